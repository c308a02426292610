"""Adapters: the ports of :mod:`models.ports`, implemented on what lies outside the process."""
