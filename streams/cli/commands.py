"""The table of the commands: where each is, and what a list says of it, so that a list loads none of them."""

from __future__ import annotations

from streams.cli.loading import Entry

#: In the order of the help.
COMMANDS = {
    "settings": Entry(
        "settings:show", "List every setting: its value now, its default, its unit and what it does."
    ),
    "topics": Entry("topics:app", "Create and verify the topics; schemas/topics has one file for each."),
    "worker": Entry(
        "worker:work", "Run a service until Ctrl-C or SIGTERM. Logs go to stderr, metrics and health to a port."
    ),
    "serve": Entry(
        "serve:run",
        "Serve the HTTP API and the console until Ctrl-C or SIGTERM. Logs go to stderr, metrics to a port.",
    ),
    "chat": Entry(
        "chat:talk",
        "Talk with an assistant that remembers.  Needs `switchboard serve`; Ctrl-C stops an answer.",
    ),
    "token": Entry("token:app", "Tokens of the HTTP API: make, list and revoke them."),
    "tail": Entry(
        "tail:follow", "Print the records of a topic as they arrive: time, partition:offset, key, content."
    ),
    "search": Entry(
        "search:find",
        "Search what a person said and what is known of them, by meaning and by words, best first.",
    ),
    "window": Entry("window:app", "Show the messages around a match, by their place in the conversation."),
    "understand": Entry(
        "understand:show",
        "Say whether a question is open and why, what it refers to, and what to ask back.  Needs `recall`.",
    ),
    "graph": Entry(
        "graph:show",
        "Show the people, pets, places, organizations and dates that a person speaks of.  Needs `recall`.",
    ),
    "context": Entry(
        "context:show",
        "Show the context made for a conversation's next turn: tiers, tokens, and why each item is in or not.",
    ),
    "facts": Entry("facts:show", "Show what is known of a person, by kind."),
    "explain": Entry(
        "facts:explain", "Show what a fact rests on: its sentences, and each change with what caused it."
    ),
    "correct": Entry(
        "correct:correct",
        "Put something else in the place of a fact that is wrong; its history names both, and who did it.",
    ),
    "conversations": Entry("conversations:app", "Look at conversations, and close them."),
    "erase": Entry("erase:app", "Forget a conversation or a person, and what was made of it."),
    "mcp": Entry(
        "mcp_command:run",
        "Speak the Model Context Protocol on stdin and stdout, for an assistant that starts this itself.",
    ),
    "import": Entry(
        "import_command:bring_in",
        "Import an export of another chat, with its own times; what is there already is not added again.",
    ),
    "export": Entry(
        "export:write",
        "Write messages (tokens, summarized or not, metadata) and summaries of conversations, one per line.",
    ),
    "filter": Entry(
        "filter_command:show",
        "Filter a text like a response, without Kafka: the same processor, all of the text at once.",
    ),
    "calibrate": Entry(
        "calibrate:measure",
        "Embed pairs of statements with this deployment's model, and say which "
        "SWITCHBOARD_MERGE_SIMILARITY and\nSWITCHBOARD_SUPPORT_SIMILARITY fit.",
    ),
    "consolidate": Entry(
        "consolidate:ask",
        "Look at what changed of the facts about a person, and make those one that say the same.",
    ),
    "costs": Entry("costs:show", "Show the requests to language models and their cost, without erased ones."),
    "status": Entry(
        "status:show", "Show each service's readiness and counts, and how far each group has read each topic."
    ),
    "close": Entry(
        "conversations:close",
        "End the open window of conversations that are over, instead of waiting until they count as silent.",
    ),
    "dlq": Entry("dlq:app", "Look at records that could not be processed; retry or drop them."),
    "digest": Entry("digest:compare", "Digest the latest value of each key of a topic, or compare two topics."),
    "doctor": Entry(
        "doctor:examine",
        "Check settings, disk, broker, topics, producers, dead letters, services, serve, tokens, "
        "the model's key.",
    ),
    "state": Entry(
        "state:app",
        "Let a service start over from what the topics hold, or read a topic again. Stop its workers first.",
    ),
}
