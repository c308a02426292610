"""Bringing the exports of other chats in, as messages on ``chat.messages.v1``.

What an export says is decided in :mod:`processors.conversations.importing`; here files are opened
(:mod:`.files`), what is in the log already is found (:mod:`.known`), and the rest is published
(:mod:`.publishing`).
"""
