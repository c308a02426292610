"""The HTTP API of the memory service: search and look up facts.

* ``app``: the routes and what they answer (:func:`streams.api.app.create_api`)
* ``problems``: errors as RFC 9457 problem details
* ``server``: runs an app inside an event loop that is already busy (:func:`streams.api.server.serve`)
"""
