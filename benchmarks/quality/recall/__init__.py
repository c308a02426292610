"""Recall of search: ``python -m benchmarks.quality.recall FOLDER``.

:mod:`.sets` reads the data, :mod:`.memory` makes memories of it with the project's own stages and
indexes, :mod:`.measures` says how good what is found is, :mod:`.baselines` what BM25 and cosine alone
find, :mod:`.fitting` how the weights of the ranking are chosen.
"""
