"""Models behind OpenAI-compatible APIs: addresses, errors, budgets, cached answers."""
