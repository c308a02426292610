"""The provider of Gemini's API: :mod:`.client` asks, :mod:`.answers` reads, :mod:`.failures` reads errors."""
