"""What is decided: pure functions and small state machines, no I/O and no clock but the one passed in."""
