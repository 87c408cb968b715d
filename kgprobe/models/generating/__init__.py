"""Models on this machine that answer prompts with text."""
