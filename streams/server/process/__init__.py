"""The life of our processes on one machine: started, named, locked, supervised and ended.

Begin with :mod:`~streams.server.process.worker`, one service in the foreground;
:mod:`~streams.server.process.life` is what it shares with every other command that stays,
:mod:`~streams.server.process.supervisor` keeps several running. :mod:`~streams.config.exits` has the exit
statuses, :mod:`~streams.config.service_registry` says where each answers.
"""
