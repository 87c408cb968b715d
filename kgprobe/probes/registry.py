"""The probes by name, and what each is made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.scorer import Scorer
from kgprobe.probes.distractors import DistractorProbe
from kgprobe.probes.outcome import Probe
from kgprobe.probes.strategies import StrategyOptions


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """What a user chooses of a probe; kept with a run, so that it can go on with the same.

    Attributes:
        model: its spec.
        relations: ids; empty means all that can be asked.
        distractors: how many stand beside each fact.
        sentences: how many cloze sentences of a relation are asked, drawn at random; None asks all.
        strategy, weighting, budget: see :class:`~kgprobe.probes.strategies.StrategyOptions`.
    """

    model: str
    as_of: int
    relations: tuple[str, ...] = ()
    distractors: int = 10
    sentences: int | None = 1
    strategy: str = "random"
    weighting: str = "tf-idf"
    budget: int = 2_000


def _distractors(graph: Graph, scorer: Scorer, options: ProbeOptions) -> Probe:
    return DistractorProbe(
        graph,
        scorer,
        StrategyOptions(options.strategy, options.as_of, options.weighting, options.budget),
        distractors=options.distractors,
        sentences=options.sentences,
        relations=options.relations,
    )


PROBES: Mapping[str, Callable[[Graph, Scorer, ProbeOptions], Probe]] = {"distractors": _distractors}


def make_probe(name: str, graph: Graph, scorer: Scorer, options: ProbeOptions) -> Probe:
    """The probe of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in PROBES:
        raise UnknownNameError(f"There is no probe {name!r}; there are: {', '.join(PROBES)}.")
    return PROBES[name](graph, scorer, options)
