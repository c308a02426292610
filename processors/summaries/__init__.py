"""Content and length of a conversation summary (requirement 5.2).

Begin with :mod:`.extractive`, which chooses quotations.  :mod:`.building` turns any summarizer's answer into a record.
"""
