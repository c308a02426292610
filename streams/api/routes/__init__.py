"""The operations, a module for each kind of thing; :mod:`streams.api.catalog` lists them."""
