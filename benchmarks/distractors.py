"""Cost of distractors for each fact, by strategy and by size of the object's type.

One graph with a type of each size. Members have facts like people in Wikidata: gender, citizenship, occupation, place
of birth, from lists with common first and rare last values. The asked facts are organizations with their current
leader.
"""

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.base.records import Entity, Fact, Placed, Relation
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.signals import ending_in_order
from kgprobe.sampling.distractors import EXCLUDED, FormerObjects, RandomDistractors, Retriever, RuledFact, admissible
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.pool_draws import PoolEntities
from kgprobe.sampling.semantic import SemanticDistractors, TemporalDistractors

AS_OF = 20260101
WANTED = (10, 200)
FORMER = 3
# Candidate entities that the graph checks.
TRIED = 200

# Function from a type's size, facts and a seed to distractors for each fact.
Task = Callable[[int, Sequence[RuledFact], int], Sequence[Sized]]

# Members' properties: number of values, and share of members with one.
PROPERTIES = {"gender": (2, 0.8), "citizenship": (200, 0.7), "occupation": (1_000, 0.6), "birthplace": (10_000, 0.4)}


@dataclass
class MembersSource:
    """Source of types of given sizes, their members' properties, and organizations that members lead.

    Attributes:
        members: the sizes of the types.
        asked: number of organizations, and of asked facts, for each type.
        seed: seed of all random choices.
    """

    members: Sequence[int]
    asked: int
    seed: int = 0
    name: str = "members"
    partial: bool = False
    done: int = 0
    total: int = 1

    @property
    def fingerprint(self) -> str:
        """Identifier of the graph, from the attributes."""
        return f"members {self.members} {self.asked} {self.seed}"

    def relations(self) -> Iterator[Placed]:
        """Yield the properties and the leadership relation."""
        for line, name in enumerate([*PROPERTIES, "led by"], start=1):
            yield Placed(line, Relation(name, name, clozes=("[X] has to do with [Y]",)))

    def entities(self) -> Iterator[Placed]:
        """Yield values, organizations and members."""
        return (Placed(line, entity) for line, entity in enumerate(self._entities(), start=1))

    def facts(self) -> Iterator[Placed]:
        """Yield properties of members and leaders of organizations."""
        return (Placed(line, fact) for line, fact in enumerate(self._facts(), start=1))

    def _entities(self) -> Iterator[Entity]:
        for name, (count, _) in PROPERTIES.items():
            for value in range(count):
                yield Entity(f"{name}-{value}", f"{name} number {value}", types=(name,))
        for size in self.members:
            yield Entity(f"type-{size}", f"one of {size:,}")
            for number in range(self.asked):
                yield Entity(
                    f"organization-{size}-{number}", f"organization {number} of {size}", types=("organization",)
                )
            for number in range(size):
                yield Entity(f"member-{size}-{number}", f"member {number} of {size}", types=(f"type-{size}",))

    def _facts(self) -> Iterator[Fact]:
        generator = random.Random(self.seed)
        for size in self.members:
            for number in range(size):
                for name, (count, share) in PROPERTIES.items():
                    if generator.random() < share:
                        # The n-th value is n times rarer than the first.
                        value = int(count ** generator.random()) - 1 if count > 2 else generator.randrange(2)
                        member = f"member-{size}-{number}"
                        yield Fact(f"{member} {name}", member, name, f"{name}-{value}")
            for number in range(self.asked):
                organization = f"organization-{size}-{number}"
                leaders = generator.sample(range(size), FORMER + 1)
                for year, leader in zip(range(2010, 2014), leaders, strict=True):
                    end = None if year == 2013 else str(year)
                    member = f"member-{size}-{leader}"
                    yield Fact(f"{organization} {year}", organization, "led by", member, start=str(year), end=end)


def measure(
    graph: Graph, retrievers: Sequence[Retriever], sizes: Sequence[int], asked: int, batch_size: int
) -> list[Row]:
    """Return the median time for each fact, over batches; types alternate, so that load affects all alike.

    Args:
        retrievers: the strategies.
        sizes: sizes of the types of the facts' objects.
        asked: number of facts for each.
        batch_size: facts in a batch.
    """
    keys = {
        size: [
            FactKey(f"organization-{size}-{number}", f"organization-{size}-{number} 2013") for number in range(asked)
        ]
        for size in sizes
    }
    former = next(retriever for retriever in retrievers if retriever.name == "temporal-semantic")
    tasks: list[tuple[str, str, int, Task]] = [
        ("type constraint", f"{TRIED} entities", 0, partial(_constrain, graph, _tried(graph, keys))),
        ("former objects", f"{FORMER} distractors", FORMER, partial(_retrieve, former, FORMER)),
    ]
    for retriever in retrievers:
        for count in WANTED:
            tasks += [(retriever.name, f"{count} distractors", count, partial(_retrieve, retriever, count))]
    rows = []
    for name, of, least, task in tasks:
        seconds: dict[int, list[float]] = {size: [] for size in sizes}
        for start in range(0, asked, batch_size):
            for size in sizes:
                some = keys[size][start : start + batch_size]
                clock = time.perf_counter()
                asked_facts = [(fact, FormerObjects(AS_OF)) for fact in describe_facts(graph, some)]
                distractors = task(size, asked_facts, start)
                seconds[size].append((time.perf_counter() - clock) / len(some))
                if any(len(rivals) < least for rivals in distractors):
                    raise RuntimeError("a fact of the synthetic graph lacks distractors")
        for size in sizes:
            # The first batch warms up the engine's caches and reads the members of small types.
            median = 1000 * statistics.median(seconds[size][1:])
            rows.append(Row(f"{name}, type of {size:,}", of, median, "ms a fact", less_is_better=True))
    return rows


def _tried(graph: Graph, keys: Mapping[int, Sequence[FactKey]]) -> dict[int, list[int]]:
    """Return random entity numbers, half of them of the type; values have the first numbers."""
    drawn = {
        size: RandomDistractors(graph).retrieve(
            [(fact, EXCLUDED) for fact in describe_facts(graph, keys_of_size[:1])], TRIED // 2, [0]
        )[0]
        for size, keys_of_size in keys.items()
    }
    return {size: [*range(TRIED // 2), *(member.number for member in members)] for size, members in drawn.items()}


def _constrain(
    graph: Graph,
    tried: Mapping[int, Sequence[int]],
    size: int,
    asked: Sequence[RuledFact],
    seed: int,  # noqa: ARG001
) -> Sequence[Sized]:
    return admissible(PoolEntities(graph), asked, [(place, tried[size]) for place in range(len(asked))])


def _retrieve(
    retriever: Retriever,
    wanted: int,
    size: int,  # noqa: ARG001
    asked: Sequence[RuledFact],
    seed: int,
) -> Sequence[Sized]:
    return retriever.retrieve(asked, wanted, [seed])


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(min=WANTED[-1] * 2),
    multiple=True,
    default=(1_000, 10_000, 100_000, 1_000_000),
    show_default=True,
    help="Members of a type; repeatable; all types are in one graph.",
)
@click.option("--facts", default=192, show_default=True, help="Facts for each type.")
@click.option("--batch-size", default=32, show_default=True, help="Facts in a batch.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep graph and features in this folder, and reuse them.",
)
@click.option("--engine", default="arcadedb", show_default=True, help="arcadedb or neo4j.")
@seed_option
@json_option
def main(
    sizes: tuple[int, ...], facts: int, batch_size: int, keep: Path | None, engine: str, seed: int, as_json: bool
) -> None:
    """Measure the cost of distractors by size of the object's type.

    A million members take some 13 minutes to load on two cores; --keep reuses them.
    """
    if facts <= batch_size:
        raise click.UsageError("The first batch is warm-up: --facts must exceed --batch-size.")
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(TemporaryDirectory(prefix="kgprobe-")))
        os.environ["KGPROBE_HOME"] = str(folder)
        stack.enter_context(ending_in_order())
        graph = stack.enter_context(open_graph(folder / "graph", engine=engine, memory=4096))
        source = MembersSource(sizes, facts, seed)
        rows = _load(graph, source)
        clock = time.perf_counter()
        retrievers: list[Retriever] = [
            RandomDistractors(graph),
            SemanticDistractors(graph, "tf-idf"),
            TemporalDistractors(graph, AS_OF, "tf-idf"),
        ]
        seconds = time.perf_counter() - clock
        rows.append(Row("features", "made, or opened where kept", seconds, "s", less_is_better=True))
        # The engine's compiler warms up.
        measure(graph, retrievers, sizes[:1], facts, batch_size)
        rows += measure(graph, retrievers, sizes, facts, batch_size)
        versions = {**versions_of("neo4j", "numpy"), "engine": graph.server}
    show(Report("distractors", rows, seed, versions), as_json=as_json)


def _load(graph: Graph, source: MembersSource) -> list[Row]:
    """Load the graph if it is not there."""
    loads = {row["id"]: row["finished"] for row in graph.read("load/loads")}
    if set(loads) - {source.fingerprint}:
        raise click.UsageError("The kept graph was made with other options; name another folder.")
    if loads.get(source.fingerprint):
        return []
    print(f"loading {sum(source.members):,} members", file=sys.stderr)
    clock = time.perf_counter()
    load(graph, source)
    return [Row("loading", "time", time.perf_counter() - clock, "s", less_is_better=True)]


if __name__ == "__main__":
    main()
