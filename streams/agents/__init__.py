"""Agents: one file per stage, thin: decode, call a processor, return effects.  A folder per service."""
