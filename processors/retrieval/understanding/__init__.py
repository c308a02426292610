"""Understanding of questions: references, and the need to ask back.  Begin in ``reading``."""
