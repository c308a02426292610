"""Agents: one file per stage, thin: decode, call a processor, return effects."""
