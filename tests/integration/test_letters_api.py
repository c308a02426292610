"""Dead letters over HTTP, on a real broker with the real ingest service."""

from __future__ import annotations

import asyncio

import pytest
from serve_rig import ServeRig
from waiting import eventually

from streams.clients import kafka
from streams.clients.partitioner import partition_of

pytestmark = pytest.mark.kafka

TOPIC = "chat.messages.v1"
BAD = b'{"message_id": 7, "what": "\xff"}'


def publish(rig: ServeRig, *values: bytes) -> list[str]:
    """Publish records; return where each lies, as a letter's ``source`` says it."""

    async def run() -> list[str]:
        spec = rig.catalog.get(TOPIC)
        async with kafka.connected(kafka.make_producer(rig.settings, "test"), rig.settings, 30.0) as producer:
            places = [
                await producer.send_and_wait(
                    spec.name,
                    value,
                    key=b"c-letters",
                    partition=partition_of(b"c-letters", spec.partitions),
                    headers=[("own", b"kept")],
                )
                for value in values
            ]
        return [f"{at.topic} / {at.partition} / {at.offset}" for at in places]

    return asyncio.run(run())


def test_they_are_listed_read_tried_again_and_dropped(deployment: ServeRig) -> None:
    """Letters of other tests may arrive at any time: what they sent, or sent again, is still on its way."""
    deployment.need("ingest")
    with deployment.client() as client:

        def groups() -> list[dict]:
            found = client.get("/v1/dead-letters").json()["groups"]
            return [each for each in found if each["topic"] == TOPIC]

        def pages(limit: int) -> list[list[dict]]:
            found, cursor = [], ""
            while cursor is not None:
                asked = {"limit": limit, "cursor": cursor}
                page = client.get(f"/v1/dead-letters/{TOPIC}", params=asked).json()
                found.append(page["letters"])
                cursor = page["next"]
            return found

        def of(sources: list[str]) -> list[dict]:
            return [each for page in pages(500) for each in page if each["source"] in sources]

        def drop_all() -> None:
            for group in groups():
                which = {"reason": group["reason"], "stage": group["stage"]}
                dropped = client.post(f"/v1/dead-letters/{TOPIC}/drop", json=which)
                assert dropped.status_code == 202
                assert len(dropped.json()["letters"]) >= group["count"]

        drop_all()  # what other tests left
        sources = publish(deployment, BAD, b"{", b"[")
        eventually(lambda: len(of(sources)) == 3, "all three are dead letters")
        assert sum(each["count"] for each in groups()) >= 3
        by_two = pages(2)
        assert [len(page) for page in by_two[:-1]] == [2] * (len(by_two) - 1) and len(by_two) > 1
        [oldest] = of(sources[:1])
        place = {name: oldest[name] for name in ("partition", "offset")}
        at = f"/v1/dead-letters/{TOPIC}/{place['partition']}/{place['offset']}"

        whole = client.get(at).json()
        assert whole["record"]["hex"] == BAD.hex(" ")
        assert whole["record"]["text"] == '{"message_id": 7, "what": "\\xff"}'
        assert whole["record"]["headers"] == [["own", "kept"]]
        assert (whole["letter"]["refused"], whole["letter"]["not_retryable"]) == (1, "")

        again = client.post(f"/v1/dead-letters/{TOPIC}/retry", json={"places": [place]})
        assert (again.status_code, len(again.json()["letters"])) == (202, 1)
        sent = again.json()["letters"][0]["sent"]
        assert sent.partition(":")[0] == str(oldest["partition"])

        def followed() -> str:
            return str(client.get("/v1/progress", params={"position": sent}).json()["reason"])

        assert eventually(followed, "it is known what became of it").startswith(oldest["reason"])
        gone = client.get(at)
        assert (gone.status_code, gone.json()["type"]) == (404, "urn:switchboard:problem:unknown-letter")

        def refused_again() -> list[dict]:
            """Of another record, tried again by another test, the size is another."""
            return [
                each
                for page in pages(500)
                for each in page
                if (each["refused"], each["size"]) == (2, oldest["size"])
            ]

        [back] = eventually(refused_again, "it was refused again")
        assert back["partition"] == oldest["partition"]

        drop_all()
        assert of([*sources, back["source"]]) == []
