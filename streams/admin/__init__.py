"""Administration: topics and their state (:mod:`~streams.admin.topics`), and imports of other chats'
exports (:mod:`~streams.admin.importing`).
"""
