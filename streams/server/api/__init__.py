"""The HTTP API.

* ``operations``: how an operation is declared; ``routes``: the operations; ``catalog``: all of them
* ``dispatch``: from a request to a handler and back; ``usage``: how an operation is called, in a sentence
* ``parts``: what the handlers stand on
* ``access``, ``caller``: who may ask for what
* ``problems``: errors as RFC 9457 problem details; ``tracing``: which trace a request belongs to
* ``openapi``: the description, generated
* ``app``: all of it as one application (:func:`streams.server.api.app.create_api`)
* ``connection``: time-outs and the limit on connections
* ``server``: runs an app inside an event loop that is already busy (:func:`streams.server.api.server.serve`)
"""
