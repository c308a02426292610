"""Benchmarks of what people and programs touch, one module for each: HTTP, MCP, and from message to search.

:mod:`.deployment` runs everything as one would run it; ``make bench`` measures (:mod:`.__main__`).
"""
