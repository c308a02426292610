"""Turns of conversations, without secrets, and the window around one."""
