"""What a summary of a conversation says, and how long it may be (seed 004).

Begin with :mod:`.extractive`, which picks sentences by :mod:`.cues` and packs them (:mod:`.packing`);
:mod:`.building` makes any summarizer's answer safe and turns it into a record.
"""
