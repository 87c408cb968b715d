"""A run in a process of its own, for tests that kill it: `python killed_run.py GRAPH RUN ROUNDS`.

The probe draws real distractors from the graph; in a model's place, it hashes what a model would be given.
"""

import sys
import zlib
from collections.abc import Sequence
from typing import Any

from kgprobe.asking.rounds import Plan, begin_run, run_rounds
from kgprobe.graph.client import Graph
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.distractors import RandomDistractors
from kgprobe.sampling.facts import FactKey
from kgprobe.servers.server import open_graph

AS_OF = 20200101
SEED = 5


class HashProbe:
    """Right if the hash of the object beats those of three distractors."""

    name = "hash"
    relations = ("r0", "r1")

    def __init__(self, graph: Graph) -> None:
        self._distractors = RandomDistractors(graph, AS_OF)

    def describe(self) -> dict[str, Any]:
        return {"model": "hash", "chance": 0.25}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        outcomes = []
        for fact, rivals in zip(facts, self._distractors.retrieve(facts, 3, seed), strict=True):
            beaten = all(zlib.crc32(rival.id.encode()) < zlib.crc32(fact.fact.encode()) for rival in rivals)
            evidence = {"rivals": [rival.id for rival in rivals]}
            outcomes.append(Outcome(fact, Verdict.RIGHT if beaten else Verdict.WRONG, str(seed), evidence=evidence))
        return outcomes


def main(graph_name: str, run: str, rounds: int) -> None:
    """Begin the run if it is new, and go on with it."""

    def no_password(prompt: str) -> str:
        raise AssertionError(prompt)

    with open_graph(graph_name, no_password) as graph:
        probe = HashProbe(graph)
        plan = Plan(run, rounds=rounds, batch=8, seed=SEED, as_of=AS_OF)
        if not graph.read("beliefs/run", id=run):
            begin_run(graph, probe, plan)
        report = run_rounds(graph, probe, plan, on_round=lambda round_: print(round_.number, flush=True))
        print(report.stopped, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
