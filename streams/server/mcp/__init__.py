"""Memory for assistants that speak the Model Context Protocol.

:mod:`.tools` are the tools, resources and the prompt; :mod:`.answers` what they answer, within a budget of
tokens. All of it asks the HTTP API (:mod:`.asking`): in process where ``switchboard serve`` has it at ``/mcp``
(:mod:`.app`),
over the network from ``switchboard mcp``, which speaks on stdin and stdout.  Who asks decides the token (or,
where none is needed, ``--user``), never the model.
"""
