"""WhatsApp's "export chat": a text file, one message per line and the rest of a long one on the next lines.

:mod:`.headers` reads how a message begins (dates, 12-hour times and digits of every locale), :mod:`.notices`
tells people from WhatsApp's own notices, and speech from placeholders (deleted, media, calls),
:mod:`.reading` turns a file into drafts.  Begin with :func:`.reading.survey`, which passes
over the file once before it is read.
"""

from processors.conversations.importing.whatsapp.headers import DateOrder
from processors.conversations.importing.whatsapp.reading import Survey, read, survey

__all__ = ["DateOrder", "Survey", "read", "survey"]
