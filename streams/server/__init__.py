"""What runs and answers: the HTTP API, MCP, the console, tokens, and the processes of the services.

Begin with :mod:`~streams.server.process.worker` (one service in the foreground) or
:mod:`~streams.server.serve.process` (``switchboard serve``); :mod:`~streams.server.api.app` has the routes.
"""
