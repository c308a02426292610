"""Choice of the model that reads the demo's conversations: none, scripted, Gemini, or an endpoint.

``MODEL=builtin``, ``MODEL=scripted``, ``MODEL=gemini``, or ``MODEL=http://host:port/v1#name`` for anything that
speaks OpenAI's API; unless one says, Gemini if there is a key for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from deploy.local import called
from deploy.local.ports import LOOPBACK, free_ports
from models.errors import ConfigurationError, DependencyUnavailable
from streams.config import child_process
from streams.config.redaction import without_credentials
from streams.config.settings import Settings

MODELS = ("builtin", "scripted", "gemini")

_START_SECONDS = 30.0
_ASKED = ("EXTRACTOR", "SUMMARIZER", "GRAPH_READER", "MERGE_VALIDATOR", "UNDERSTANDER", "RESPONDER")
_READS = {f"SWITCHBOARD_{name}": "model" for name in _ASKED}
_GEMINI = _READS | {"SWITCHBOARD_MODEL_API": "gemini"}


def chosen(given: str, settings: Settings) -> str:
    """Return the model's name: the one that was given, or what there is a key for.

    Raises:
        ConfigurationError: there is no such model, or no key for it.
    """
    has_key = bool(settings.gemini_api_key.get_secret_value())
    if given.startswith(("http://", "https://")):
        url, _, name = given.partition("#")
        if not name:
            raise ConfigurationError(
                f"MODEL={without_credentials(url)} does not name a model: add it behind a #, for example "
                f"{called.demo(model='http://127.0.0.1:11434/v1#llama3.1:8b')}"
            )
        return given
    if given and given not in MODELS:
        raise ConfigurationError(
            f"MODEL={given} is none of {', '.join(MODELS)}, nor http://host:port/v1#name: "
            f"{called.demo(model='scripted')}"
        )
    if given == "gemini" and not has_key:
        raise ConfigurationError(
            f"MODEL=gemini needs a key: GEMINI_API_KEY=... {called.demo()}. "
            f"Without one: {called.demo(model='scripted')}"
        )
    return given or ("gemini" if has_key else "builtin")


class DemoModel:
    """The model of a demo; the scripted one is a process of its own."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        self._log = log
        self._server: subprocess.Popen[bytes] | None = None
        self.environment: dict[str, str] = dict(_GEMINI)
        if name == "builtin":
            self.environment = dict.fromkeys(_READS, "builtin")
        elif "#" in name:
            url, _, model = name.partition("#")
            self.environment = _READS | {
                "SWITCHBOARD_MODEL_API": "openai",
                "SWITCHBOARD_MODEL_URL": url,
                "SWITCHBOARD_MODEL_NAME": model,
            }

    @property
    def sentence(self) -> str:
        """Say who reads, and what leaves the machine."""
        if "#" in self.name:
            url, _, model = self.name.partition("#")
            place = without_credentials(url)
            return f"{model} at {place} reads the conversations and answers; messages are sent there"
        return {
            "builtin": "a small model on this machine reads the conversations",
            "scripted": "a scripted model on this machine reads the conversations and answers, as Gemini would",
            "gemini": "Gemini reads the conversations and answers; messages are sent to it, for a little money",
        }[self.name]

    @property
    def pid(self) -> int | None:
        """The process id of the scripted model's server, if it runs."""
        return self._server.pid if self._server is not None else None

    def start(self) -> None:
        """Start the scripted model's server, if it is the one.

        Raises:
            DependencyUnavailable: it did not start.
        """
        if self.name != "scripted":
            return
        # Here, since it loads the scripted model, which is seconds the first time.
        from deploy.local.model_server import KEY

        (port,) = free_ports(1)
        url = f"http://{LOOPBACK}:{port}"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as output:
            command = [sys.executable, "-m", "deploy.local.model_server", "--port", str(port)]
            self._server = child_process.spawn(command, output=output, env=os.environ)
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(url):
            if self._server.poll() is not None or time.monotonic() > deadline:
                raise DependencyUnavailable("the scripted model", f"it does not answer: see {self._log}")
            time.sleep(0.1)
        self.environment |= {
            "SWITCHBOARD_MODEL_URL": url,
            "SWITCHBOARD_MODEL_NAME": "",
            "SWITCHBOARD_MODEL_API_KEY": KEY,
            "SWITCHBOARD_MODEL_API_KEY_FILE": "",
        }

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            child_process.end(self._server, 5.0)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/script/calls", timeout=2) as response:  # a server of our own
            return bool(response.status == 200)
    except OSError:
        return False
