"""Models behind OpenAI-compatible APIs: addresses, faults, budgets, answers kept on disk."""
