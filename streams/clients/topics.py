"""Contract names of the topics that several modules read or write."""

from __future__ import annotations

MESSAGES = "chat.messages.v1"
RESPONSES = "chat.responses.v1"
DUPLICATES = "chat.duplicates.v1"
WINDOWS = "memory.windows.v1"
CANDIDATES = "memory.fact-candidates.v1"
FACTS = "memory.facts.v1"
SUMMARIES = "memory.summaries.v1"
COMMANDS = "memory.commands.v1"
EPISODES = "memory.episodes.v1"
