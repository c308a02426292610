"""Whole pipelines on a real broker: this runtime beside the alternatives, each in a process of its own."""
