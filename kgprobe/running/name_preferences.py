"""Names that a model prefers for all subjects: how probably it is right without knowing the fact.

docs/methods/findings.md. A model that prefers frequent names is right on the facts that have one. The guesser of a
fact is therefore the model itself, in questions about other subjects of the relation to which the name is wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from kgprobe.probes.outcome import Outcome, guessing_chance
from kgprobe.probes.register import ProbeKind


class NamePreferences:
    """Count how often a model prefers each name in the questions of a relation to which it is a wrong answer.

    Memory: some 200 bytes for each different wrong answer of a relation.
    """

    def __init__(self, kind: ProbeKind | None = None) -> None:
        """Begin without answers.

        Args:
            kind: the probe's, which gives the wrong answers to a question; None where it is not registered.
        """
        self._kind = kind
        # By relation and name: how often the name was a wrong answer, and how often the model preferred it.
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
            names = [name for name, _ in self._kind.alternatives(evidence).names]
            self._offered.update((relation, name) for name in names)
            if evidence.prediction is not None:
                self._preferred[relation, evidence.prediction] += 1
            if self._offered[relation, evidence.right_answer] or not right.isdisjoint(names):
                self._comparable.add(relation)

    def chance(self, outcome: Outcome) -> float | None:
        """Return the probability that the model is right on a question without knowing the fact, in [0, 1].

        It is the mean of the Beta distribution that Jeffreys' prior and the counts of the right answer's name give:
        (p + 1/2) / (n + 1) of a name that was wrong n times and preferred p times; and at least the probability of
        guessing at random. None where the answer does not count, or nothing is known of guessing.
        """
        random = guessing_chance(outcome)
        if random is None or outcome.evidence is None or outcome.relation not in self._comparable:
            return random
        name = outcome.relation, outcome.evidence.right_answer
        return max(random, (self._preferred[name] + 0.5) / (self._offered[name] + 1))
