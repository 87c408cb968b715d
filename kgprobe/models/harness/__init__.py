"""lm-evaluation-harness, both ways: its tasks on our scorer (:mod:`.model`), our probes on its models (:mod:`.scorer`).

Needs the extra ``lm-eval``; nothing of it is imported before it is used.
"""
