"""Gemini behind the ports: what is asked goes through the memo, the limiter and the budget, in this order.

:mod:`.client` speaks to the API and says what its errors mean.  :mod:`.asking` is what every purpose is asked
through; :mod:`.extractor` and :mod:`.summarizer` are two of them.  :mod:`.prices` says what it costs.
"""
