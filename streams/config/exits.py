"""Exit statuses of the commands (sysexits.h): what whoever started a process may conclude from its end."""

from __future__ import annotations

EXIT_OK = 0
#: The input is bad.
EXIT_INVALID = 65
#: What was named (a file, a topic, a conversation) is not there.
EXIT_NOT_FOUND = 66
#: Something outside is missing: start it again later.
EXIT_UNAVAILABLE = 69
#: It stopped rather than lose data, or did not stop in time: start it again.
EXIT_FAILED = 70
#: A setting or a topic is wrong, or a name is taken: starting it again changes nothing.
EXIT_CONFIGURATION = 78
EXIT_INTERRUPTED = 130
