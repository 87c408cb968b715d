"""lm-evaluation-harness: its tasks on our scorer (:mod:`.model`), our probes on its models (:mod:`.scorer`).

Needs the extra ``lm-eval``, which is only imported on use.
"""
