"""The command `switchboard`: one file per command (group), and what they share.

* :mod:`.main` puts the commands together and turns errors into one line and an exit status.
* :mod:`.output` prints: tables, JSON lines, and text that cannot control the terminal.
* :mod:`.broker` reads from Kafka for people: no group, no commits, nothing changed.
"""
