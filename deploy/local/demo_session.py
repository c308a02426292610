"""One run of the demo, from its first line to its last."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.local import called, demo_model
from deploy.local import demo_report as report
from deploy.local.demo_input import EXAMPLES, InputMessage, input_files, read_messages
from deploy.local.demo_next import print_next
from deploy.local.demo_parts import Parts
from deploy.local.demo_run import Run
from deploy.local.demo_send import response_text
from streams.cli.output import count
from streams.config.settings import load_settings


def show(given: str, kafka_port: int, stay: bool, model: str = "") -> None:
    """Run the demo on ``given`` (a file or folder; the examples if empty) and, if so wished, stay.

    Raises the errors of :mod:`models.errors` and :class:`KeyboardInterrupt`; nothing is running then.
    """
    # A broker that has just started sends its clients from door to door; they find it, and log each step.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    settings = load_settings()
    model = demo_model.chosen(model, settings)
    files = input_files(given)
    messages = read_messages(files, settings)
    progress = report.Progress()
    progress.say(_welcome(files, messages))
    try:
        with Parts(settings, kafka_port, lambda text: progress.say(f"  {text}"), model) as parts:
            asyncio.run(Run(parts, messages, progress, response_text()).run())
            print_next(parts, stay)
            if stay:
                _stay(parts)
    finally:
        progress.clear()
    if not stay:
        print(f"All that was started has ended; data and logs stay in {settings.folder}.")


def _welcome(files: Sequence[Path], messages: Sequence[InputMessage]) -> str:
    people = len({line.message.user_id for line in messages})
    conversations = len({line.message.conversation_id for line in messages})
    where = "examples" if files[0].parent == EXAMPLES and len(files) > 1 else ", ".join(map(str, files))
    return (
        f"  {count(len(messages), 'message')} of {count(people, 'person', 'people')} in "
        f"{count(conversations, 'conversation')} ({where})"
    )


def _stay(parts: Parts) -> None:
    """Keep everything running until a signal; a part that ends by itself is an error."""
    try:
        # Within: whoever reads this may press Ctrl-C before we have done anything more.
        print(f"\nEverything keeps running. Ctrl-C here, or `{called.down()}`, ends it.", flush=True)
        while True:
            parts.check()
            time.sleep(0.5)
    except KeyboardInterrupt:
        print("\nending ...", flush=True)
