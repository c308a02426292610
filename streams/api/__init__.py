"""The HTTP API of the recall service: search and look up facts.

* ``app``: the routes and what they answer (:func:`streams.api.app.create_api`)
* ``access``: who may ask for what (:class:`streams.api.access.Access`)
* ``problems``: errors as RFC 9457 problem details
* ``connection``: time-outs and the limit on connections
* ``server``: runs an app inside an event loop that is already busy (:func:`streams.api.server.serve`)
"""
