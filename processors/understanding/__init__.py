"""What a question refers to, and whether it must be asked back; begin in ``reading``."""
