"""Objects of another process of this machine, called over a UNIX socket that only this user can open.

What can be called is what a Protocol declares: its async methods, with their types.  :mod:`.contract` has what
both sides agree on, :class:`.server.ObjectServer` answers, :class:`.client.Remote` asks.
"""
