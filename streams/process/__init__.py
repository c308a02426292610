"""The life of our processes on one machine: started, named, locked, supervised and ended.

Begin with :mod:`~streams.process.worker`, one service in the foreground; :mod:`~streams.process.life` is what
it shares with every other command that stays, :mod:`~streams.process.supervisor` keeps several running.
:mod:`~streams.process.exits` has the exit statuses, :mod:`~streams.process.service_registry` says where each
answers.
"""
