"""Training of the reader model: :mod:`.samples`, :mod:`.encoder`, :mod:`.training`, :mod:`.export` to ONNX."""
