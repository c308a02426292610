"""The service ``respond``: responses leave without what they repeat.  Begin with :mod:`.responses`."""
