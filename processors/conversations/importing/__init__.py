"""Messages of a chat export: speakers, times and ids.

Readers are pure and lazy: pieces of a file go in, :class:`.drafts.Draft` and :class:`.drafts.Skipped` come
out, one
after the other, and nothing larger than one conversation is ever held.  :mod:`.chatgpt` and :mod:`.claude`
stand
on :mod:`.elements` (a JSON array, element by element), :mod:`.whatsapp` and :mod:`.jsonl` on :mod:`.lines`.
:mod:`.drafts` makes a draft a message that the services take; begin there.
"""
