"""Measurements made up on disk: which facts a model has right is chosen, and nothing is asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kgprobe.answers.settings import CONFIG
from kgprobe.answers.store import FILE, encode_line
from kgprobe.probes.distractors.evidence import DistractorEvidence, NamedEntity, Rival, Sentence
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.selection import SEEDED_ORDER

CONFIGURED: Mapping[str, Any] = {
    "probe": "distractors",
    "options": {"distractors": 2},
    "described": {"model": "base", "scorer": {"weights": "aaaa", "device": "cpu"}, "distractors": 2},
    "facts": {"limit": None, "order": SEEDED_ORDER},
    "seed": 0,
    "as_of": 20240101,
    "graph": "{}",
    "reversed": False,
    "reversed_of": None,
    "versions": {},
}


def compared(fact: str, right: bool) -> DistractorEvidence:
    """Return an object among two rivals, the first of which is less plausible than it in any case."""
    logs = np.log([0.3, 0.1, 0.2 if right else 0.5])
    rivals = (Rival("w1", "Weak", "same type"), Rival("w2", f"Strong of {fact}", "same type"))
    sentence = Sentence(f"The capital of {fact} is", (0, 1), logs)
    return DistractorEvidence(fact, NamedEntity("o", f"Object of {fact}"), rivals, (sentence,), 0, 1 / 3)


def answered(fact: str, right: bool) -> QuestionEvidence:
    """Return a question to which yes is right."""
    said, error = ("Yes.", None) if right else ("No.", "factual")
    return QuestionEvidence("yes/no", f"Is it so: {fact}?", said, 0.5, expected=True, says=right, error=error)


def store_measurement(
    folder: Path,
    right: Mapping[str, bool | str | None],
    *,
    relation: str = "r0",
    relations: Mapping[str, str] | None = None,
    relations_asked: Sequence[str] = ("r0",),
    **config: Any,
) -> Path:
    """Return a folder as a measurement leaves it.

    Args:
        right: whether each fact was; None for one to which no answer came; or another verdict.
        relations_asked: those of the measurement.
        relation: of facts that ``relations`` does not name.
        config: what is other than in ``CONFIGURED``; ``model`` names the model.
    """
    folder.mkdir(parents=True)
    model = config.pop("model", "base")
    made = {**CONFIGURED, "relations": list(relations_asked), **config}
    made["described"] = {**made["described"], "model": model}
    (folder / CONFIG).write_bytes(msgspec.json.encode(made))
    evidence = compared if made["probe"] == "distractors" else answered
    lines = []
    for place, (fact, its) in enumerate(right.items()):
        verdict = Verdict.UNANSWERED if its is None else Verdict.RIGHT if its else Verdict.WRONG
        if isinstance(its, str):
            verdict, its = Verdict(its), False
        own = (relations or {}).get(fact, relation)
        shown = None if its is None else evidence(fact, its)
        lines.append(encode_line(place, Outcome(FactKey(f"s-{fact}", fact), verdict, own, evidence=shown)))
    (folder / FILE).write_bytes(b"".join(lines))
    return folder
