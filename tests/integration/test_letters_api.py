"""Dead letters over HTTP, on a real broker with the real ingest service."""

from __future__ import annotations

import asyncio

import pytest
from serve_rig import ServeRig, eventually

from streams import kafka
from streams.runtime.partitioner import partition_of

pytestmark = pytest.mark.kafka

TOPIC = "chat.messages.v1"
BAD = b'{"message_id": 7, "what": "\xff"}'


def publish(rig: ServeRig, *values: bytes) -> None:
    async def run() -> None:
        spec = rig.catalog.get(TOPIC)
        async with kafka.connected(kafka.make_producer(rig.settings, "test"), rig.settings, 30.0) as producer:
            for value in values:
                await producer.send_and_wait(
                    spec.name,
                    value,
                    key=b"c-letters",
                    partition=partition_of(b"c-letters", spec.partitions),
                    headers=[("own", b"kept")],
                )

    asyncio.run(run())


def test_they_are_listed_read_tried_again_and_dropped(deployment: ServeRig) -> None:
    deployment.need("ingest")
    with deployment.client() as client:

        def groups() -> list[dict]:
            found = client.get("/v1/dead-letters").json()["groups"]
            return [each for each in found if each["topic"] == TOPIC]

        def drop_all() -> None:
            for group in groups():
                which = {"reason": group["reason"], "stage": group["stage"]}
                dropped = client.post(f"/v1/dead-letters/{TOPIC}/drop", json=which)
                assert (dropped.status_code, len(dropped.json()["letters"])) == (202, group["count"])
            assert groups() == []

        drop_all()  # what other tests left
        publish(deployment, BAD, b"{", b"[")
        eventually(lambda: sum(each["count"] for each in groups()) == 3, "all three are dead letters")
        first = client.get(f"/v1/dead-letters/{TOPIC}", params={"limit": 2}).json()
        rest = client.get(f"/v1/dead-letters/{TOPIC}", params={"limit": 2, "cursor": first["next"]}).json()
        letters = first["letters"] + rest["letters"]
        assert (len(first["letters"]), len(letters), rest["next"]) == (2, 3, None)
        assert len({(each["partition"], each["offset"]) for each in letters}) == 3
        oldest = min(letters, key=lambda each: each["offset"])
        place = {name: oldest[name] for name in ("partition", "offset")}
        at = f"/v1/dead-letters/{TOPIC}/{place['partition']}/{place['offset']}"

        whole = client.get(at).json()
        assert whole["record"]["hex"] == BAD.hex(" ")
        assert whole["record"]["text"] == '{"message_id": 7, "what": "\\xff"}'
        assert whole["record"]["headers"] == [["own", "kept"]]
        assert (whole["letter"]["refused"], whole["letter"]["not_retryable"]) == (1, "")

        again = client.post(f"/v1/dead-letters/{TOPIC}/retry", json={"places": [place]})
        assert (again.status_code, len(again.json()["letters"])) == (202, 1)
        gone = client.get(at)
        assert (gone.status_code, gone.json()["type"]) == (404, "urn:switchboard:problem:unknown-letter")

        def refused_again() -> list[dict]:
            found = client.get(f"/v1/dead-letters/{TOPIC}").json()["letters"]
            return [each for each in found if each["refused"] == 2]

        [back] = eventually(refused_again, "it was refused again")
        assert back["size"] == oldest["size"]

        drop_all()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/dead-letters/no.such.topic", None, 404),
        ("GET", f"/v1/dead-letters/{TOPIC}/0/999999", None, 404),
        ("GET", f"/v1/dead-letters/{TOPIC}/-1/0", None, 400),
        ("GET", f"/v1/dead-letters/{TOPIC}?cursor=nonsense", None, 400),
        ("GET", f"/v1/dead-letters/{TOPIC}?cursor=%C3%A4", None, 400),
        ("POST", f"/v1/dead-letters/{TOPIC}/retry", {}, 400),
        ("POST", f"/v1/dead-letters/{TOPIC}/retry", {"places": [{"partition": 0, "offset": 999999}]}, 404),
        ("POST", f"/v1/dead-letters/{TOPIC}/drop", {"places": [{"partition": 0}]}, 400),
    ],
)
def test_what_is_not_there_is_said(
    deployment: ServeRig, method: str, path: str, body: object, status: int
) -> None:
    with deployment.client() as client:
        answer = client.request(method, path, json=body) if body is not None else client.request(method, path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
