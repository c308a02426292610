"""The operations, a module for each kind of thing; :mod:`streams.server.api.catalog` lists them."""
