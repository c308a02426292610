"""``switchboard erase``: forget a conversation, or a person."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from models.commands import Command
from models.errors import ConfigurationError
from models.memo import Memo
from models.messages import DEFAULT_TENANT
from streams import cloudevents, kafka
from streams.adapters.memo.memo import MemoLog
from streams.adapters.memo.topic import MemoTopic
from streams.adapters.memo.view import MemoView
from streams.adapters.redis_client import open_redis
from streams.adapters.turn_topic import TurnTopic
from streams.agents.ingest.conversations import FACTS
from streams.cli import broker, commands, conversations
from streams.cli.output import count, printable
from streams.erasures import EVENT, UNTIL_HEADER, Erasing
from streams.runtime.partitioner import partition_of
from streams.settings import Settings, load_settings
from streams.topics import catalog_for

app = typer.Typer(no_args_is_help=True, help="Forget a conversation or a person, and what was made of it.")

Tenant = Annotated[str, typer.Option("--tenant", help="The tenant that it belongs to.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before anything is erased.")]

_SOURCE = "/switchboard/cli"


@app.command("conversation")
def erase_conversation(
    conversation_id: Annotated[
        str, typer.Argument(metavar="ID", help="The conversation_id.", show_default=False)
    ],
    tenant: Tenant = DEFAULT_TENANT,
    yes: Yes = False,
) -> None:
    """Forget what was said in a conversation so far, and every fact that rests on any of it."""
    settings = load_settings()
    command = commands.erasing(conversation_id, tenant)
    name = printable(conversation_id)
    _confirm(f"Everything that was said in {name} until now, and what was made of it, will be gone.", yes)
    asyncio.run(_erase_conversation(settings, conversation_id, tenant, command))
    print(f"asked to erase {name}, up to now")
    _say_what_remains(settings)


@app.command("person")
def erase_person(
    user_id: Annotated[str, typer.Argument(metavar="USER", help="The user_id.", show_default=False)],
    tenant: Tenant = DEFAULT_TENANT,
    yes: Yes = False,
) -> None:
    """Forget a person: their conversations, in shared ones their own words, and every fact about them."""
    settings = load_settings()
    if not user_id.strip():
        raise ConfigurationError("USER is blank: say who is to be forgotten")
    name = printable(user_id)
    _confirm(f"Everything that {name} has said until now, and what was made of it, will be gone.", yes)
    found = asyncio.run(_erase_person(settings, user_id, tenant))
    shared = sum(not alone for alone in found.values())
    total = count(len(found), "conversation")
    print(f"asked to erase {name}, up to now: {total}, {shared} of them shared with others")
    _say_what_remains(settings)


def _confirm(what: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError("nobody is here to be asked, so nothing was erased: add --yes")
    print(what)
    typer.confirm("Go on?", abort=True)


async def _erase_conversation(settings: Settings, conversation_id: str, tenant: str, command: Command) -> None:
    stored = await conversations.find(settings, conversation_id)
    if stored is None:
        print(
            f"no message of {printable(conversation_id)!r} has been processed yet: what is there by now is "
            "erased; ids are case-sensitive",
            file=sys.stderr,
        )
    elif stored.state.tenant_id != tenant:
        raise ConfigurationError(
            f"conversation {printable(conversation_id)!r} belongs to another tenant than "
            f"{printable(tenant)!r}: nothing was erased; give its own with --tenant"
        )
    await commands.send(settings, [command])
    await _forget_answers(
        settings, lambda memo: (memo.tenant_id, memo.conversation_id) == (tenant, conversation_id)
    )


async def _erase_person(settings: Settings, user_id: str, tenant: str) -> dict[str, bool]:
    """Ask for it; return the person's conversations, and of each whether nobody else takes part in it."""
    found = await TurnTopic(settings).conversations(tenant, user_id)
    found = {**dict.fromkeys(await conversations.of_person(settings, tenant, user_id), True), **found}
    asked = [commands.erasing(name, tenant, "" if alone else user_id) for name, alone in found.items()]
    # First, so that nothing new is learned from what is still on its way.
    await _forget_facts(settings, Erasing(tenant, "", user_id, datetime.now(UTC)))
    await commands.send(settings, asked)
    await _forget_answers(
        settings,
        # In a conversation with others their words may stand in an answer about somebody else.
        lambda memo: memo.tenant_id == tenant and (memo.user_id == user_id or memo.conversation_id in found),
    )
    return found


async def _forget_answers(settings: Settings, is_theirs: Callable[[Memo], bool]) -> None:
    """Erase what language models answered, as far as it is written by now."""
    async with AsyncExitStack() as resources:
        topic = MemoTopic(settings, "switchboard-cli")
        resources.push_async_callback(topic.close)
        erased = await topic.forget(is_theirs)
        if erased and settings.redis_url:
            redis = open_redis(settings)
            resources.push_async_callback(redis.aclose)
            await MemoLog(topic, MemoView(redis, settings.namespace)).catch_up()
    if erased:
        print(f"erased what models answered: {count(erased, 'answer')}")


async def _forget_facts(settings: Settings, erasing: Erasing) -> None:
    """Have all facts about a person erased that rest on what has arrived by now, by the broker's clock."""
    spec = catalog_for(settings).get(FACTS)
    partition = partition_of(erasing.user_id.encode(), spec.partitions)
    key = erasing.key(partition)
    said = [header for header in erasing.headers() if header[0] != UNTIL_HEADER]
    event = cloudevents.outgoing(EVENT, _SOURCE, f"{key}/{erasing.until.isoformat()}")
    client = kafka.make_producer(settings, "switchboard-cli")
    async with broker.answering(settings), kafka.connected(client, settings, broker.ANSWER_SECONDS) as producer:
        async with asyncio.timeout(2 * broker.ANSWER_SECONDS):
            await producer.send_and_wait(
                spec.name, None, key=key.encode(), partition=partition, headers=[*event, *said]
            )


def _say_what_remains(settings: Settings) -> None:
    """Say when it is gone from where, as the topics' retention says."""
    compacted, kept = 0, defaultdict(list)
    for spec in catalog_for(settings):
        if spec.is_compacted:
            compacted = max(compacted, spec.max_compaction_lag_ms or 0)
        elif spec.retention_ms is not None and spec.contract_name != commands.COMMANDS:
            kept[spec.retention_ms + (spec.segment_ms or 0)].append(spec.name)
    now = datetime.now(UTC)
    by = now + timedelta(milliseconds=compacted)
    print("gone as soon as ingest, memory and recall have read this: search, facts, windows, vectors")
    print(
        "contexts that were made for the same person's other conversations may repeat it in memory.context.v1 "
        "until the next turn of each; no reader of Switchboard is shown that"
    )
    print(f"gone from the files of compacted topics by {by:%Y-%m-%d}, or with the next record after that")
    for retention_ms, names in sorted(kept.items()):
        until = now + timedelta(milliseconds=retention_ms)
        print(f"still to be read, by whoever reads the topics, until {until:%Y-%m-%d}: {', '.join(names)}")
