"""Language models behind the ports: a question goes through memo, budget and limiter, in this order.

:mod:`.port` is what a provider implements; :mod:`.gemini` and :mod:`.openai` are two.  :mod:`.asking` is what
every purpose is asked through, :mod:`.model_batch` the way of one call, :mod:`.prices` what it costs.
:mod:`.extractor`, :mod:`.summarizer` and the like are the purposes; :mod:`.extraction_models`,
:mod:`.chat_models` and :mod:`.embedders` open what the settings choose.
"""
