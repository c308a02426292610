"""The store for LangGraph, in a graph and by each of its operations."""

from __future__ import annotations

import asyncio

from documented import PERSON, URL, eventually, run
from langgraph.store.base import BaseStore
from switchboard_client.langgraph import SwitchboardStore

ADA = ("memories", PERSON)

run("langgraph")  # its question comes before anything was read
store = SwitchboardStore(URL)
assert isinstance(store, BaseStore)
found = eventually(lambda: store.search(ADA, query="Where do I live?"), "what was put is found")
assert any("Lisbon" in each.value["text"] for each in found) and found[0].score is not None
assert "Lisbon" in run("langgraph")

home = store.get(ADA, "home")
assert home is not None and (home.value, home.key, home.namespace) == (
    {"text": "I live in Lisbon."},
    "home",
    ADA,
)
assert store.get(ADA, "nothing") is None and store.get(("memories", f"{PERSON}-other"), "home") is None

store.put(ADA, "tea", {"drink": "tea", "cups": 3})
eventually(lambda: store.get(ADA, "tea"), "a value of several fields is there")
assert store.get(ADA, "tea").value == {"drink": "tea", "cups": 3}
store.put(ADA, "home", {"text": "I live in Munich."})
store.put(ADA, "home", {"text": "I live in Munich."})
eventually(lambda: store.get(ADA, "home").value["text"] == "I live in Munich.", "the latest value counts")

memory = store._memory(ADA)
memory.close_conversation(f"store/memories/{PERSON}")
facts = eventually(lambda: store.search(ADA), "facts come of it")
assert asyncio.run(store.aget(ADA, facts[0].key)).value["text"] == facts[0].value["text"]
assert store.search(ADA, filter={"kind": "nothing"}) == []
assert len(store.search(ADA, limit=1)) == 1
assert asyncio.run(store.asearch(ADA, query="tea", limit=2)) is not None
store.delete(ADA, facts[0].key)
eventually(lambda: store.get(ADA, facts[0].key) is None, "a fact that is deleted is gone")
for refused in (lambda: store.delete(ADA, "home"), lambda: store.list_namespaces()):
    try:
        refused()
    except (ValueError, NotImplementedError):
        continue
    raise AssertionError("it was not refused")
store.close()
