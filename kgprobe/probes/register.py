"""The probes by name, and what each is made from.

A probe is one module (or folder), with a :class:`ProbeKind` that an entry point of the group ``kgprobe.probes`` names.
From that alone come its command, its options in `rounds run`, its page and its place in the library. Nothing heavy is
imported before a probe is made.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kgprobe.options import make_options
from kgprobe.plugins import Register

if TYPE_CHECKING:
    from pathlib import Path

    import msgspec

    from kgprobe.graph.client import Graph
    from kgprobe.models.model import Model, Models
    from kgprobe.probes.outcome import Alternatives, Headline, Outcome, Probe
    from kgprobe.tables import Table


@dataclass(frozen=True, slots=True)
class ProbeContext:
    """What every probe is made in.

    Attributes:
        model: the one that is asked.
        models: opens others by their specs, such as one that grades.
        as_of: reference date, ``yyyymmdd``: facts count as current at it.
        relations: ids of the only ones asked; none means all that can be.
    """

    graph: "Graph"
    model: "Model"
    models: "Models"
    as_of: int
    relations: Sequence[str] = ()


def _no_tables(outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "list[Table]":  # noqa: ARG001
    return []


def _no_values(evidence: Any) -> Mapping[str, float]:  # noqa: ARG001
    return {}


def _win_rate(outcomes: "Iterable[Outcome]") -> "Headline | None":  # noqa: ARG001
    return None


def _nothing_beside(evidence: Any) -> "Alternatives":  # noqa: ARG001
    from kgprobe.probes.outcome import Alternatives

    return Alternatives()


def _no_exports() -> "Mapping[str, Callable[[Iterable[Outcome], Path], None]]":
    return {}


@dataclass(frozen=True, slots=True)
class ProbeKind:
    """A probe as it is registered.

    Attributes:
        name: as on the command line, the entry point's.
        summary: what it asks, in one sentence that begins with a capital.
        details: more for the help of its command; may be empty.
        options: a frozen dataclass of :func:`kgprobe.options.option` fields.
        evidence: gives the struct of its evidence.
        make: makes the probe from the setting and its options.
        tables: what is to be told of its outcomes beside what is told of every probe's, given what it described.
        values: what it measures of an outcome's evidence beside right and wrong, by name in snake_case, each a number
            whose mean over facts says something; models are compared by these means, too.
        leads: the one of ``values`` that leads a comparison; empty for the win rate.
        headline: gives the measure that opens its results; None for the win rate.
        alternatives: what stood beside the right answer in an outcome's evidence, for whoever looks at a single fact.
        exports: gives what else can be written of its outcomes, by file name.
        measured: options that are others where facts are measured once, by name.
        batch_size: facts that a measurement asks together.
        asks: what a model has to be able to: score texts, or generate them.
    """

    name: str
    summary: str
    options: type
    evidence: "Callable[[], type[msgspec.Struct]]"
    make: "Callable[[ProbeContext, Any], Probe]"
    tables: "Callable[[Iterable[Outcome], Mapping[str, Any]], list[Table]]" = _no_tables
    values: "Callable[[Any], Mapping[str, float]]" = _no_values
    leads: str = ""
    headline: "Callable[[Iterable[Outcome]], Headline | None]" = _win_rate
    alternatives: "Callable[[Any], Alternatives]" = _nothing_beside
    exports: "Callable[[], Mapping[str, Callable[[Iterable[Outcome], Path], None]]]" = _no_exports
    details: str = ""
    measured: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 32
    asks: Literal["scores", "answers"] = "scores"

    def options_from(self, given: Mapping[str, Any]) -> Any:
        """Its options, with defaults for what is not given.

        Raises:
            ArgumentError: it has no such option, or a value cannot be.
        """
        return make_options(self.options, given, f"the probe {self.name}")


PROBES: Register[ProbeKind] = Register("kgprobe.probes", "probe")
