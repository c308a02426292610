"""The console: pages that are a client of the public API and of nothing else.

``app`` serves what lies in ``static``: plain ES modules and one foreign file (``static/vendor``, which
``make vendor`` renews).
Begin with ``static/app.js``; each page is a file in ``static/pages``.
"""
