"""Prompts, a file for each purpose: pure, with a version and an example (requirements 3 and 5).

:mod:`.fence` keeps what people wrote apart from what is asked: it is data, and gives no orders.  :mod:`.prompt` is
what every prompt consists of.  :mod:`.extraction` and :mod:`.summary` write a prompt and read its answer, which is
not trusted: what is malformed, or what the conversation does not bear out, is left out.

A prompt whose words or whose reading changes gets a new version: what was answered before is then asked again.
"""
