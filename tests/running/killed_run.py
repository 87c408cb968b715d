"""A run for tests that kill its process, and for others that need no model.

The probe draws real distractors from the graph; in a model's place, it hashes what a model would be given.
"""

import zlib
from collections.abc import Sequence
from typing import Any

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.base.progress import share_counter
from kgprobe.graph.client import Graph
from kgprobe.models.computing import in_turn
from kgprobe.probes.outcome import Evidence, Outcome, Verdict
from kgprobe.running.plan import Plan, RoundsOptions
from kgprobe.running.rounds import continue_run
from kgprobe.running.runs import begin_run
from kgprobe.sampling.distractors import EXCLUDED, RandomDistractors
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey

AS_OF = 20200101
SEED = 5


def make_plan(run: str, as_of: int = AS_OF, seed: int = SEED, **options: Any) -> Plan:
    """Return a plan with options of rounds."""
    return Plan(run, as_of, seed, RoundsOptions(**options))


class HashEvidence(Evidence, frozen=True, tag="hash"):
    """The compared values."""

    rivals: tuple[str, ...]
    chance: float = 0.25
    question: str = "Which hash is the greatest?"
    right_answer: str = "the object's"
    prediction: str | None = None
    probability: float | None = None


class HashProbe:
    """Right if the hash of the object beats those of three distractors."""

    relations = ("r0", "r1")

    def __init__(self, graph: Graph) -> None:
        self._graph, self._distractors = graph, RandomDistractors(graph)

    def describe(self) -> dict[str, Any]:
        return {"model": "hash"}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        outcomes, count = [], share_counter(len(facts))
        asked = [(fact, EXCLUDED) for fact in describe_facts(self._graph, facts)]
        for fact, rivals in zip(facts, self._distractors.retrieve(asked, 3, seed), strict=True):
            verdict = Verdict.RIGHT if self._beats(fact.fact, [rival.id for rival in rivals]) else Verdict.WRONG
            evidence = HashEvidence(tuple(rival.id for rival in rivals))
            outcomes.append(Outcome(fact, verdict, fact.fact.split()[1], str(seed), evidence=evidence))
            count(1)
        return outcomes

    @in_turn
    def _beats(self, fact: str, rivals: Sequence[str]) -> bool:
        """Compute on the device."""
        return all(zlib.crc32(rival.encode()) < zlib.crc32(fact.encode()) for rival in rivals)


def begin_or_go_on(
    graph: Graph,
    run: str,
    rounds: int,
    callbacks: Callbacks = NO_CALLBACKS,
    learner: str = "propagation",
    batch: int | None = None,
) -> str:
    """Begin the run if it is new, and go on with it; why it ended."""
    probe = HashProbe(graph)
    plan = make_plan(run, rounds=rounds, facts_per_round=8, learner=learner)
    if not graph.read("beliefs/run", id=run):
        begin_run(graph, probe, plan, "hash")
    return continue_run(graph, probe, plan, callbacks, batch=batch).stopped.value
