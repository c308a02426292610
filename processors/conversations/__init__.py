"""Windows and summary requests of a conversation (requirements 1 and 5).

Begin with :mod:`.fold`: what each message, pause and summary does to a conversation.  :mod:`.state` is what is
remembered of it, :mod:`.bodies` where its messages are kept, :mod:`.windows` where windows begin and end,
:mod:`.token_table` which messages are summarized and when, :mod:`.summarizing` how that is asked for,
:mod:`.drafts` what is published.
"""
