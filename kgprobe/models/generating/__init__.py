"""Models that answer prompts with text, on this machine."""
