"""Names that a model prefers: against counts by hand, and a model that prefers names and knows nothing."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.register import PROBES
from kgprobe.running.name_preferences import NamePreferences
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import at_least
from tests.probes.distractors.written import named_evidence

KIND = PROBES.get("distractors")


def answered(subject: str, right: str, others: Sequence[str], strengths: dict[str, float]) -> Outcome:
    """Return an outcome of the model that takes the strongest name."""
    evidence = named_evidence(right, {name: strengths[name] for name in others}, strengths[right])
    verdict = Verdict.RIGHT if all(strengths[right] > strengths[other] for other in others) else Verdict.WRONG
    return Outcome(FactKey(subject, f"{subject} {right}"), verdict, "P1", evidence=evidence)


def test_name_counts_where_it_is_wrong() -> None:
    strengths = {"Rome": -1.0, "Oslo": -2.0, "Bern": -3.0}
    preferences = NamePreferences(KIND)
    italy = answered("Italy", "Rome", ["Oslo"], strengths)
    # Nothing is known of a name that was never wrong, in a relation in which none was.
    assert preferences.chance(italy) == 0.5
    preferences.learn([italy, answered("Norway", "Oslo", ["Rome", "Bern"], strengths)])
    preferences.learn([answered("Switzerland", "Bern", ["Rome"], strengths)])
    # Rome was wrong twice and preferred twice, Oslo was wrong once and not preferred, Bern likewise.
    assert preferences.chance(italy) == (2 + 0.5) / (2 + 1)
    assert preferences.chance(answered("Norway", "Oslo", ["Rome", "Bern"], strengths)) == 1 / 3
    assert preferences.chance(answered("Switzerland", "Bern", ["Rome"], strengths)) == 0.5
    elsewhere = answered("Italy", "Rome", ["Oslo"], strengths)
    other = Outcome(elsewhere.fact, elsewhere.verdict, "P2", evidence=elsewhere.evidence)
    assert preferences.chance(other) == 0.5
    assert NamePreferences().chance(italy) == 0.5


@pytest.mark.parametrize("knows", [False, True])
def test_model_that_prefers_names_is_not_taken_to_know_facts(knows: bool) -> None:
    generator = random.Random(0)
    names = [f"name {number}" for number in range(40)]
    strengths = {name: -float(number) for number, name in enumerate(names)}
    # Frequent names are the preferred ones.
    often = generator.choices(names, weights=[1 / (number + 1) for number in range(40)], k=150)
    right = {f"subject {number}": name for number, name in enumerate(often)}
    preferences = NamePreferences(KIND)
    lucky, wins = Counter[str](), Counter[str]()
    chances: dict[str, list[float]] = {subject: [] for subject in right}
    for _ in range(4):
        outcomes = []
        for subject, name in right.items():
            others = generator.sample([other for other in names if other != name], 4)
            ranked = {**strengths, name: 1.0} if knows else strengths
            outcomes.append(answered(subject, name, others, ranked))
        preferences.learn(outcomes)
        for outcome in outcomes:
            wins[outcome.fact.subject] += outcome.verdict is Verdict.RIGHT
            chances[outcome.fact.subject].append(preferences.chance(outcome) or 0.0)
    for subject, its in chances.items():
        lucky[subject] = wins[subject] == 4 and at_least(4, its) < 0.05
    if knows:
        assert sum(lucky.values()) == len(right)
    else:
        # By the chance of guessing at random, these would be surely known.
        assert sum(wins[subject] == 4 for subject in right) >= 15
        assert sum(lucky.values()) <= 2
