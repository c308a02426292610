"""Kubernetes: what runs there, as kustomize builds it, and the users that the Strimzi overlay makes."""
