"""What a summary of a conversation says, and how long it may be (seed 004).

Begin with :mod:`.extractive`, which chooses quotations.  :mod:`.building` turns any summarizer's answer into a record.
"""
