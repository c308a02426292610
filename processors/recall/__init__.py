"""What is read back: turns of conversations, without what must not be stored, and the window around one."""
