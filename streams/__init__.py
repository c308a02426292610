"""How it moves: settings, topics, the runtime, the agents, the adapters, the command line."""

import os

# onnxruntime sends usage data to its maker from 1.31 on.  Read when its library is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
