"""Logs of other evaluation tools, by document: lm-evaluation-harness and Inspect."""
