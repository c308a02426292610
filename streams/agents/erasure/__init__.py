"""Expiry of facts, turns and episodes (:mod:`.expiry`)."""
