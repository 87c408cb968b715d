"""Registry of the probes.

A probe is one module (or folder) with a :class:`ProbeKind`, listed as an entry point of the group ``kgprobe.probes``.
Its command, its options in `rounds run`, its page and the Python interface read this registry. Heavy packages are
imported only when a probe is made.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from kgprobe.base.options import make_options
from kgprobe.base.plugins import Register

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.models.model import Model, Models
    from kgprobe.probes.outcome import Evidence, Export, Outcome, Probe, ProbeResults


@dataclass(frozen=True, slots=True)
class ProbeContext:
    """Resources and settings that every probe is made with.

    Attributes:
        model: the model under test.
        models: opens further models by their specs, such as a grader.
        as_of: reference date, ``yyyymmdd``, at which facts are current.
        relations: ids of the relations to ask; empty for all.
    """

    graph: "Graph"
    model: "Model"
    models: "Models"
    as_of: int
    relations: Sequence[str] = ()


def imported(path: str) -> "Callable[[], type[Evidence]]":
    """Return a function that imports the evidence ``module:name``."""
    return partial(resolve_name, path)


def with_scorer(path: str) -> "Callable[[ProbeContext, Any], Probe]":
    """Return a function that imports a probe, ``module:name``, and makes it with the scorer of the model under test."""

    def make(setting: ProbeContext, options: Any) -> "Probe":
        probe: Callable[..., Probe] = resolve_name(path)
        scorer = setting.model.scorer()
        return probe(setting.graph, scorer, options, as_of=setting.as_of, relations=setting.relations)

    return make


def made_by(path: str) -> "Callable[[ProbeContext, Any], Probe]":
    """Return a function that imports another, ``module:name``, and makes a probe with it."""
    return lambda setting, options: resolve_name(path)(setting, options)


@dataclass(frozen=True, slots=True)
class ProbeKind:
    """A registered probe.

    Attributes:
        name: name of the entry point and of the command.
        summary: its question about a model, one sentence with a capital.
        details: further help of its command; may be empty.
        options: a frozen dataclass of :func:`kgprobe.base.options.option` fields.
        evidence: returns the struct of its evidence, from which results, values, alternatives and exports follow.
        make: makes the probe from context and options.
        leads: the name in the evidence's ``values`` that leads a comparison; empty for the win rate.
        in_rounds: defaults of options that differ in rounds, by name; everywhere else those of ``options`` apply.
        rounds_note: sentence on ``in_rounds``, for the help and the results of runs.
        batch_size: number of facts that a measurement asks together.
        asks: required ability of the model: to score texts, or to generate them.
    """

    name: str
    summary: str
    options: type
    evidence: "Callable[[], type[Evidence]]"
    make: "Callable[[ProbeContext, Any], Probe]"
    leads: str = ""
    details: str = ""
    in_rounds: Mapping[str, Any] = field(default_factory=dict)
    rounds_note: str = ""
    batch_size: int = 32
    asks: Literal["scores", "answers"] = "scores"

    def results(self, outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "ProbeResults":
        """Return the probe's own tables and headline over outcomes, which are read once."""
        return self.evidence().results(outcomes, described)

    def exports(self) -> "Mapping[str, Export]":
        """Return the writers of further files, by file name; a writer yields a function that adds an outcome."""
        return self.evidence().exports()

    def options_from(self, given: Mapping[str, Any]) -> Any:
        """Return the probe's options, with defaults for the missing ones.

        Raises:
            ArgumentError: an option is unknown, or a value is invalid.
        """
        return make_options(self.options, given, f"the probe {self.name}")


PROBES: Register[ProbeKind] = Register("kgprobe.probes", "probe")
