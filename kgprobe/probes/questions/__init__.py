"""Questions that a model answers in words, as a probe."""
