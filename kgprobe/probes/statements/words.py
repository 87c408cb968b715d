"""The words that say relations in statements, in either tense."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.facts import askable_relations
from kgprobe.verbalize.tense import templates_of

# What a statement is made of, as the graph calls it: the first that a relation has.
_TEMPLATES = ("statements", "clozes")


@dataclass(frozen=True, slots=True)
class StatementWords:
    """Templates of statements, by relation: of every one that is active and has any.

    Attributes:
        present: templates that are told to be statements, or cloze sentences with a full stop.
        past: the same in the past tense, where they were written down.
        labels: what the relations are called.
    """

    present: Mapping[str, Sequence[str]]
    past: Mapping[str, Sequence[str]]
    labels: Mapping[str, str]

    @classmethod
    def of(cls, graph: Graph) -> "StatementWords":
        """Those of a graph.

        Raises:
            KgprobeError: no relation has any.
        """
        rows = askable_relations(graph, _TEMPLATES)
        return cls(
            {relation: _present(row) for relation, row in rows.items()},
            {relation: [_completed(each) for each in row["past_clozes"]] for relation, row in rows.items()},
            {relation: row["label"] for relation, row in rows.items()},
        )

    def templates(self, relation: str, ended: bool) -> list[str]:
        """Those that say that something is so, or was and has ended; there may be none of the latter."""
        return templates_of(self.present[relation], self.past[relation], ended)

    def that_say(self, ended: bool) -> list[str]:
        """The relations that have words in this tense."""
        return [relation for relation in self.present if self.templates(relation, ended)]

    def said(self) -> dict[str, set[str]]:
        """By relation what says it, in either tense, and its label; without capitals."""
        return {
            relation: {
                words.casefold()
                for words in (label, *self.templates(relation, False), *self.templates(relation, True))
                if words.strip()
            }
            for relation, label in self.labels.items()
        }


def asked_relations(graph: Graph, wanted: Sequence[str] = ()) -> list[str]:
    """The relations that statements can be made of, by id, in order.

    Args:
        wanted: ids; none means all.

    Raises:
        UnknownNameError: one that is wanted is not active, or has no words.
        KgprobeError: there is none.
    """
    return list(askable_relations(graph, _TEMPLATES, wanted))


def _completed(cloze: str) -> str:
    return f"{cloze.removesuffix('.')}."


def _present(row: Row) -> list[str]:
    return list(row["statements"]) or [_completed(each) for each in row["clozes"]]
