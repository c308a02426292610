"""The provider of OpenAI's API, which OpenAI, Azure, OpenRouter, Ollama, vLLM and llama.cpp speak.

:mod:`.client` asks, :mod:`.dialect` says how this endpoint is asked, :mod:`.reading` reads answers,
:mod:`.failures` reads errors.
"""
