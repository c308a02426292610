"""The service ``ingest``: messages become windows and requests for summaries."""
