"""Gemini behind the ports: what is asked goes through the memo, the limiter and the budget, in this order.

:mod:`.client` speaks to the API and says what its errors mean.  :mod:`.asking` is what every purpose is asked
through, :mod:`.errands` the way of one call; :mod:`.extractor` and :mod:`.summarizer` are two purposes.
:mod:`.prices` says what it costs.
"""
