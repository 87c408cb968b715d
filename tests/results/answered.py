"""What models did on facts, made up as outcomes."""

from collections.abc import Mapping

from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.running.shared_facts import AnsweredFacts, read_answers
from kgprobe.sampling.keys import FactKey
from tests.stored import compared


def answered(
    model: str,
    answers: Mapping[str, bool],
    *,
    sampling: str | None = None,
    relations: Mapping[str, str] | None = None,
    name: str | None = None,
    probe: str = "distractors",
) -> AnsweredFacts:
    """Return a model's answers to facts, right or wrong, once each."""
    outcomes = [
        Outcome(
            FactKey(f"s-{fact}", fact),
            Verdict.RIGHT if right else Verdict.WRONG,
            (relations or {}).get(fact, "r0"),
            evidence=compared(fact, right),
        )
        for fact, right in answers.items()
    ]
    return read_answers(name or f"{model}-{probe}-0123456789", model, probe, sampling, outcomes, lambda _: {})
