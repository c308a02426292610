"""``switchboard serve``: the process that people and programs talk to.

No consumer group, and no state that is not in a topic or a view: any number of them may run.
:mod:`.opening` puts its parts together, :mod:`.process` runs it.
"""
