"""Configuration and small helpers of a process: settings, names, redaction, signals, locks, backoff.

Begin with :mod:`~streams.config.settings`.  Nothing here knows of Kafka or of a stage.
"""
