"""Observability: metrics, health and logs.  Ids and counts only, never contents."""
