"""What can be seen from outside: metrics, health and logs.  Ids and counts only, never contents."""
