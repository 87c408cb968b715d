"""Labels of facts to hand on: the rows of a label table, or the beliefs of a run in the same form."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from kgprobe.base.errors import ArgumentError
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.runs import find_run
from kgprobe.graph.state import graph_state, state_difference
from kgprobe.labelling.table import (
    ASKED,
    PREDICTED,
    SCHEMES,
    LabelledFact,
    LabelTable,
    check_classes,
    count_classes,
    no_facts_of,
    read_label_table,
)
from kgprobe.results.kind_names import LABEL_TABLE, RUN
from kgprobe.results.measurement import Run
from kgprobe.results.shelf import find

BELIEF = "belief"
# A predicted fact leans to known below this probability of failing.
EVEN = 0.5
# Columns of a belief that a label has, too.
_NAMES = ("fact", "subject", "subject_name", "relation", "relation_name", "object", "object_name")


@dataclass(frozen=True, slots=True)
class FactLabels:
    """Labels of facts.

    Attributes:
        graph: state of the graph when they were made, see :func:`~kgprobe.graph.state.graph_state`; None if unknown.
        rows: yields the rows, the same in every call.
        predictions: yields predictions of facts that have no row, in the same form.
        ask_in: code of the language in which they were asked; None for names as loaded.
    """

    name: str
    model: str
    graph: str | None
    schemes: tuple[str, ...]
    rows: Callable[[], Iterator[LabelledFact]]
    predictions: Callable[[], Iterator[LabelledFact]]
    remedy: str
    ask_in: str | None = None

    def change_since(self, graph: Graph) -> str:
        """Return how the graph has changed since, in a sentence; empty if it has not."""
        now = graph_state(graph)
        if self.graph in (None, now):
            return ""
        return (
            f"Since {self.name} was made, {state_difference(str(self.graph), now)}. Facts that came later are left out."
        )

    def choose_scheme(self, scheme: str | None) -> tuple[str, str]:
        """Return a scheme of classes, and a note if it is not the first one; without a name, the first with a class.

        Cost: the rows up to the first one with a class of the scheme.
        """
        if scheme is not None and scheme not in self.schemes:
            raise ArgumentError("scheme", f"is {scheme}; {self._schemes_of_run()}.")
        if scheme is not None and not self._has_classes(scheme):
            has = " and ".join(filter(self._has_classes, self.schemes)) or "none"
            raise ArgumentError("scheme", f"is {scheme}, of which {self.name} has no class; it has classes of {has}.")
        chosen = scheme or next(filter(self._has_classes, self.schemes), self.schemes[0])
        lacks = [] if scheme else self.schemes[: self.schemes.index(chosen)]
        note = f"{self.name} has no class of {' or '.join(lacks)}: the classes are those of {chosen}." if lacks else ""
        return chosen, note

    def _has_classes(self, scheme: str) -> bool:
        return any(getattr(row, scheme) is not None for row in self.rows())

    def check_classes(self, classes: Collection[str]) -> None:
        """Raise ArgumentError if the rows cannot have one of these classes."""
        possible = [name for scheme in self.schemes for name in SCHEMES[scheme]]
        missing = [name for name in check_classes(classes) if name not in possible]
        if missing:
            raise ArgumentError(
                "classes", f"has {', '.join(missing)}; {self._schemes_of_run()}: {', '.join(possible)}."
            )

    def require_facts(self, classes: Collection[str], *, predicted: bool) -> None:
        """Raise ArgumentError if no fact has one of these classes; the message lists those that have some.

        Cost: a pass over the labels.
        """
        sizes, left_out = count_classes(chain(self.rows(), self.predictions()), predicted=predicted)
        if not any(sizes[name] for name in classes):
            raise ArgumentError("classes", no_facts_of(classes, self.name, sizes, left_out))

    def _schemes_of_run(self) -> str:
        return f"{self.name} is a run, which has {' and '.join(self.schemes)} only"


def labels_of_table(table: LabelTable) -> FactLabels:
    """Return the labels of a table: without ``fill``, those of the facts that were answered in some way."""

    def rows() -> Iterator[LabelledFact]:
        for row in table.rows():
            if row.answers or table.config.get("filled", True):
                yield row

    remedy = "`kgprobe label --fill` predicts them."
    state, ask_in = map(table.config.get, ("graph", "ask_in"))
    return FactLabels(table.name, table.model, state, tuple(SCHEMES), rows, lambda: iter(()), remedy, ask_in)


def labels_of_run(graph: Graph, run: str) -> FactLabels:
    """Return the beliefs of a run as labels: of answered facts, and of facts that propagation has reached (predicted).

    The predictions are those of the other facts, if the run is in view.
    """
    properties = find_run(graph, run)
    graph = graph.in_language(properties.get("ask_in"))

    def rows() -> Iterator[LabelledFact]:
        for row in graph.stream("beliefs/labelled", run=run):
            yield _labelled(row, properties["probe"])

    def predictions() -> Iterator[LabelledFact]:
        reached = {row["fact"] for row in graph.read("beliefs/labelled", run=run)}
        for row in graph.stream("view/predictions", run=run):
            if row["fact"] not in reached:
                word = BeliefWord.LEANS_KNOWN if row["theta"] < EVEN else BeliefWord.LEANS_UNKNOWN
                yield _labelled({**row, "right": 0, "wrong": 0, "believed": word.value}, properties["probe"])

    remedy = f"`kgprobe beliefs apply {run}` brings the run into view, with its predictions of them."
    state, ask_in = map(properties.get, ("graph", "ask_in"))
    return FactLabels(run, properties["model"], state, (BELIEF,), rows, predictions, remedy, ask_in)


def _labelled(row: Row, probe: str) -> LabelledFact:
    answers = row["right"] + row["wrong"]
    return LabelledFact(
        **{name: row[name] for name in _NAMES},
        basis=ASKED if answers else PREDICTED,
        known=1 - row["theta"],
        known_low=1 - row["high"],
        known_high=1 - row["low"],
        belief=row["believed"],
        slick=None,
        profile=None,
        answers={probe: (row["right"], answers)} if answers else {},
    )


def find_labels(labels: LabelTable | Run | str | Path, graph: Graph | None = None) -> FactLabels:
    """Return the labels of a table, or the beliefs of a run; both also by name.

    Raises:
        UnknownNameError: there is no such table or run.
    """
    if isinstance(labels, (str, Path)):
        entry = find(labels, [LABEL_TABLE, RUN], graph)
        labels = entry.open(graph) if entry.kind.name == RUN else read_label_table(entry.folder)
    return labels_of_run(labels.graph, labels.name) if isinstance(labels, Run) else labels_of_table(labels)
