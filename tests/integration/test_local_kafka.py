"""``deploy.local.kafka``: the broker that the demo and the other tests stand on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from waiting import eventually, is_alive

pytestmark = pytest.mark.kafka

PATIENCE = 60.0


def test_the_broker_does_not_outlive_a_killed_parent(tmp_path):
    program = (
        "import sys, threading\n"
        "from deploy.local.kafka import LocalKafka\n"
        "node = LocalKafka(sys.argv[1])\n"
        # Started by a thread that ends: the broker belongs to the process, not to that thread.
        "starter = threading.Thread(target=node.start)\n"
        "starter.start(); starter.join()\n"
        "print(node.pid, flush=True)\n"
        "threading.Event().wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
    finally:
        parent.kill()
        parent.communicate()
    try:
        eventually(lambda: not is_alive(pid), "the broker ends with its parent")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_in_the_foreground_ctrl_c_stops_it_in_order(tmp_path):
    command = [sys.executable, "-m", "deploy.local.kafka", "--port", "0", "--data-dir", tmp_path / "data"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as person:
        try:
            assert person.stdout is not None
            assert "answers on 127.0.0.1:" in person.stdout.readline()
            person.send_signal(signal.SIGINT)
            assert person.wait(PATIENCE) == 0
        finally:
            person.kill()
    assert "shut down completed" in (tmp_path / "data" / "kafka.log").read_text()
