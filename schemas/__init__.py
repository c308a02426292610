"""The contracts: topics, JSON Schemas, examples, AsyncAPI.  Package data, read through importlib.resources."""
