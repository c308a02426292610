"""What a summary of a conversation says, and how long it may be (seed 004).

Begin with :mod:`.extractive`, which picks sentences and packs them (:mod:`.packing`); :mod:`.choosing` has
the rules by which a sentence is told, in their order, and :mod:`.telling` tells it.  :mod:`.reading` makes
sentences of messages and :mod:`.corrections` puts right what was taken back; :mod:`.cues` tells the list of a
sentence, :mod:`.speech_acts` what is done by it, :mod:`.contact` whether it says anything, :mod:`.dialogue`
what became of it, :mod:`.ending` what undoes it, :mod:`.standing` what still holds at the end;
:mod:`.pointing` is what a sentence leaves to the one before, :mod:`.days` what one leaves to its day,
:mod:`.antecedents` whether its pronouns are clear without that, :mod:`.advice` what an assistant only lays
out, and :mod:`.perspective` names whose it is.  :mod:`.building` makes any summarizer's answer safe and turns
it into a record.
"""
