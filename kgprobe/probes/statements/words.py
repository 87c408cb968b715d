"""Templates of statements, in the present and in the past tense."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgprobe.graph.client import Graph, Row
from kgprobe.sampling.facts import askable_relations
from kgprobe.verbalize.tense import templates_of

# Kinds of templates of a statement, in the order of preference.
_TEMPLATES = ("statements", "clozes")


@dataclass(frozen=True, slots=True)
class StatementWords:
    """Templates of statements of every active relation that has any, by relation.

    Attributes:
        present: templates of statements, or else cloze sentences with a full stop.
        past: cloze sentences in the past tense with a full stop; may be empty.
        labels: labels of the relations.
    """

    present: Mapping[str, Sequence[str]]
    past: Mapping[str, Sequence[str]]
    labels: Mapping[str, str]

    @classmethod
    def of(cls, graph: Graph) -> "StatementWords":
        """Read the templates of a graph.

        Raises:
            KgprobeError: no relation has any.
        """
        rows = askable_relations(graph, _TEMPLATES)
        return cls(
            {relation: _present(row) for relation, row in rows.items()},
            {relation: _completed(row["past_clozes"]) for relation, row in rows.items()},
            {relation: row["label"] for relation, row in rows.items()},
        )

    def templates(self, relation: str, ended: bool) -> list[str]:
        """Return a relation's templates in the present tense, or in the past tense; the latter may be empty."""
        return templates_of(self.present[relation], self.past[relation], ended)

    def relations_in(self, ended: bool) -> list[str]:
        """Return the relations with templates in this tense."""
        return [relation for relation in self.present if self.templates(relation, ended)]

    def texts(self) -> dict[str, set[str]]:
        """Return each relation's label and templates of both tenses, case-folded."""
        texts = {}
        for relation, label in self.labels.items():
            words = (label, *self.templates(relation, False), *self.templates(relation, True))
            texts[relation] = {text.casefold() for text in words if text.strip()}
        return texts


def statement_relations(graph: Graph, relations: Sequence[str] = ()) -> list[str]:
    """Return the sorted ids of the relations with templates of statements.

    Args:
        relations: ids to choose from; by default all.

    Raises:
        UnknownNameError: a listed relation is not active, or has no template.
        KgprobeError: no relation has a template.
    """
    return list(askable_relations(graph, _TEMPLATES, relations))


def _completed(clozes: Sequence[str]) -> list[str]:
    return [f"{cloze.removesuffix('.')}." for cloze in clozes]


def _present(row: Row) -> list[str]:
    return list(row["statements"]) or _completed(row["clozes"])
