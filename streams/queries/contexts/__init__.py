"""The context that lies ready for a conversation's next turn, as readers ask for it (:mod:`.reading`)."""
