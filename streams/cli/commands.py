"""The table of the commands: where each is, and what a list says of it, so that a list loads none of them."""

from __future__ import annotations

from streams.cli.loading import Entry

#: Panels of the help, in their order.
RUN, ASK, FEED, OPERATE, DEVELOP = "Run", "Ask", "Feed", "Operate", "Develop"

#: In the order of the help: in each panel the daily ones first.
COMMANDS = {
    "serve": Entry(
        RUN,
        "serve:run",
        "Serve the HTTP API and the console (port 8371) until Ctrl-C or SIGTERM. Logs go to stderr.",
    ),
    "worker": Entry(
        RUN,
        "worker:work",
        "Run a service until Ctrl-C or SIGTERM. Logs go to stderr, metrics and health to a port.",
    ),
    "chat": Entry(
        RUN,
        "chat:talk",
        "Talk with an assistant that remembers.  Needs `switchboard serve`; Ctrl-C stops an answer.",
    ),
    "mcp": Entry(
        RUN,
        "mcp_command:run",
        "Speak the Model Context Protocol on stdin and stdout, for an assistant that starts this itself.",
    ),
    "search": Entry(
        ASK,
        "search:find",
        "Search what a person said and what is known of them, by meaning and by words, best first.",
    ),
    "facts": Entry(ASK, "facts:show", "Show what is known of a person, by kind."),
    "explain": Entry(
        ASK, "facts:explain", "Show what a fact rests on: its sentences, and each change with what caused it."
    ),
    "context": Entry(
        ASK,
        "context:show",
        "Show the context made for a conversation's next turn: tiers, tokens, and why each item is in or not.",
    ),
    "understand": Entry(
        ASK,
        "understand:show",
        "Say whether a question is open and why, what it refers to, and what to ask back.  Needs `recall`.",
    ),
    "graph": Entry(
        ASK,
        "graph:show",
        "Show the people, pets, places, organizations and dates that a person speaks of.  Needs `recall`.",
    ),
    "window": Entry(ASK, "window:app", "Show the messages around a match, by their place in the conversation."),
    "conversations": Entry(ASK, "conversations:app", "Look at conversations, and close them."),
    "import": Entry(
        FEED,
        "import_command:bring_in",
        "Import an export of another chat, with its own times; what is there already is not added again.",
    ),
    "correct": Entry(
        FEED,
        "correct:correct",
        "Put something else in the place of a fact that is wrong; its history names both, and who did it.",
    ),
    "export": Entry(
        FEED,
        "export:write",
        "Write messages (tokens, summarized or not, metadata) and summaries of conversations, one per line.",
    ),
    "consolidate": Entry(
        FEED,
        "consolidate:ask",
        "Look at what changed of the facts about a person, and make those one that say the same.",
    ),
    "erase": Entry(FEED, "erase:app", "Forget a conversation or a person, and what was made of it."),
    "status": Entry(
        OPERATE,
        "status:show",
        "Show each service's readiness and counts, and how far each group has read each topic.",
    ),
    "doctor": Entry(
        OPERATE,
        "doctor:examine",
        "Check settings, disk, broker, topics, producers, dead letters, services, serve, tokens, "
        "the model's key.",
    ),
    "size": Entry(
        OPERATE,
        "size:show",
        "Estimate the pods, cores, memory, disks and price of a load, with the retention of the settings.",
    ),
    "settings": Entry(
        OPERATE, "settings:show", "List every setting: its value now, its default, its unit and what it does."
    ),
    "topics": Entry(
        OPERATE, "topics:app", "Create and verify the topics; schemas/topics has one file for each."
    ),
    "dlq": Entry(OPERATE, "dlq:app", "Look at records that could not be processed; retry or drop them."),
    "state": Entry(
        OPERATE,
        "state:app",
        "Let a service start over from what the topics hold, or read a topic again. Stop its workers first.",
    ),
    "replay": Entry(
        OPERATE,
        "replay:app",
        "Run the services once more over the log, beside the live ones, and compare what comes out.",
    ),
    "token": Entry(OPERATE, "token:app", "Tokens of the HTTP API: make, list and revoke them."),
    "policy": Entry(OPERATE, "policy:app", "Policies of tenants: what is noted, what never, for how long."),
    "webhook": Entry(OPERATE, "webhook:app", "Webhooks: facts and summaries over HTTP."),
    "costs": Entry(
        OPERATE, "costs:show", "Show the requests to language models and their cost, without erased ones."
    ),
    "version": Entry(OPERATE, "version:show", "Print the version, and the commit that it was built from."),
    "tail": Entry(
        DEVELOP,
        "tail:follow",
        "Print the records of a topic as they arrive: time, partition:offset, key, content.",
    ),
    "filter": Entry(
        DEVELOP,
        "filter_command:show",
        "Filter a text like a response, without Kafka: the same processor, all of the text at once.",
    ),
    "calibrate": Entry(
        DEVELOP,
        "calibrate:measure",
        "Embed pairs of statements with this deployment's model, and say which "
        "SWITCHBOARD_MERGE_SIMILARITY and\nSWITCHBOARD_SUPPORT_SIMILARITY fit.",
    ),
    "digest": Entry(
        DEVELOP, "digest:compare", "Digest the latest value of each key of a topic, or compare two topics."
    ),
}
