"""How good results are, on public sets in a folder of yours: ``python -m benchmarks.quality FOLDER``."""
