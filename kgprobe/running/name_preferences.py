"""Names that a model prefers for all subjects, and the probability of a right answer by such a preference.

docs/methods/findings.md. A model that prefers frequent names is right on the facts that have one. So the guessing
baseline of a fact is the model itself, in questions about other subjects where the name is a wrong answer.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import repeat

from kgprobe.probes.outcome import Outcome, guessing_chance
from kgprobe.probes.register import ProbeKind


class NamePreferences:
    """Counts of how often a model prefers each name, in the questions of a relation where the name is wrong.

    Memory: some 200 bytes for each different wrong answer of a relation.
    """

    def __init__(self, kind: ProbeKind | None = None) -> None:
        """Start without answers to a probe of this kind, which lists wrong answers; None if it is not registered."""
        self._kind = kind
        # Number of times that a name was a wrong answer, and that the model preferred it, by relation and name.
        self._offered: Counter[tuple[str, str]] = Counter()
        self._preferred: Counter[tuple[str, str]] = Counter()
        self._right: defaultdict[str, set[str]] = defaultdict(set)
        # Relations in which a name is right to one question and wrong to another.
        self._comparable: set[str] = set()

    def learn(self, outcomes: Iterable[Outcome]) -> None:
        """Count the preferred names. Cost: linear in the wrong answers."""
        for outcome in outcomes:
            evidence, relation = outcome.evidence, outcome.relation
            if self._kind is None or evidence is None or not outcome.verdict.counts:
                continue
            right = self._right[relation]
            right.add(evidence.right_answer)
            names = [name for name, _ in evidence.alternatives.names]
            self._offered.update(zip(repeat(relation), names))
            if evidence.prediction is not None:
                self._preferred[relation, evidence.prediction] += 1
            if self._offered[relation, evidence.right_answer] or not right.isdisjoint(names):
                self._comparable.add(relation)

    def chance(self, outcome: Outcome) -> float | None:
        """Return the probability that the model is right on a question without knowing the fact, in [0, 1].

        With Jeffreys' prior this is (p + 1/2) / (n + 1) for a name that was a wrong answer n times and preferred p
        times; at least the probability of guessing at random. None if the answer does not count, or is unknown.
        """
        random = guessing_chance(outcome)
        if random is None or outcome.evidence is None or outcome.relation not in self._comparable:
            return random
        name = outcome.relation, outcome.evidence.right_answer
        return max(random, (self._preferred[name] + 0.5) / (self._offered[name] + 1))
