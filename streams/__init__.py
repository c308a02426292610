"""How it moves: settings, topics, the runtime, the agents, the adapters, the command line."""
