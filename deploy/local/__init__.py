"""Kafka on one machine, without Docker or an installed Java."""
