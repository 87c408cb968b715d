"""Templates: lists, checks, written and converted ones."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.records import Relation
from kgprobe.results.result import Result
from kgprobe.sanitize import counted
from kgprobe.tables import Table
from kgprobe.verbalize.templates.check import Flaw
from kgprobe.verbalize.templates.filled import Filled
from kgprobe.verbalize.templates.kinds import KINDS

if TYPE_CHECKING:
    from kgprobe.verbalize.templates.writers import WrittenRelation


# Relations that a sentence names, at most.
_NAMED = 5


def _name(relation: Relation) -> str:
    return f"{relation.label} ({relation.id})" if relation.label else relation.id


@dataclass(frozen=True, slots=True, repr=False)
class TemplateList(Result):
    """Templates, filled with facts of the graph.

    Attributes:
        templates: with their relations, in order.
    """

    templates: Sequence[tuple[Relation, Filled]]

    @property
    def columns(self) -> Sequence[str]:
        """The relation, its template, and a sentence made of that."""
        return ("relation", "label", "kind", "template", "sentence", "fact")

    def rows(self) -> list[dict[str, Any]]:
        """One a template; ``sentence`` and ``fact`` are None where the relation has no fact."""
        return [
            {"relation": relation.id, "label": relation.label, **asdict(filled)} for relation, filled in self.templates
        ]

    def tables(self) -> list[Table]:
        """One, of all templates."""
        rows = [
            {"relation": _name(relation), "kind": filled.kind, "sentence": filled.sentence or filled.template}
            for relation, filled in self.templates
        ]
        return [Table("templates", "", rows)] if rows else []


@dataclass(frozen=True, slots=True, repr=False)
class TemplateCheck(Result):
    """What a check came to.

    Attributes:
        relations, templates: how many were looked at.
        flaws: what is wrong.
        without_clozes: ids of the active relations that have no cloze.
    """

    relations: int
    templates: int
    flaws: Sequence[Flaw]
    without_clozes: Sequence[str]

    @property
    def errors(self) -> int:
        """How many of the flaws make a template unusable, or ask something wrong."""
        return sum(flaw.severity == "error" for flaw in self.flaws)

    @property
    def columns(self) -> Sequence[str]:
        """Where the flaw is, how bad, and what is wrong."""
        return ("relation", "kind", "template", "severity", "problem")

    def rows(self) -> list[dict[str, Any]]:
        """One a flaw."""
        return [asdict(flaw) for flaw in self.flaws]

    def tables(self) -> list[Table]:
        """One, of all flaws."""
        columns = ("severity", "relation", "kind", "template", "problem")
        rows = [{column: row[column] for column in columns} for row in self.rows()]
        return [Table("flaws", "", rows)] if rows else []

    def to_dict(self) -> dict[str, Any]:
        """Everything as one object."""
        return {
            "relations": self.relations,
            "templates": self.templates,
            "flaws": self.rows(),
            "without_clozes": list(self.without_clozes),
            "errors": self.errors,
        }

    def summary(self) -> str:
        """How much was looked at, and what it came to, in a sentence or two."""
        warnings = len(self.flaws) - self.errors
        told = (
            f"{counted(self.templates, 'template')} of {counted(self.relations, 'relation')}:"
            f" {counted(self.errors, 'error')}, {counted(warnings, 'warning')}."
        )
        if not self.without_clozes:
            return told
        some = ", ".join(self.without_clozes[:_NAMED]) + (", …" if len(self.without_clozes) > _NAMED else "")
        without = counted(len(self.without_clozes), "relation")
        return f"{told}\nWithout a cloze: {without} ({some}); `kgprobe templates write` writes some."


@dataclass(frozen=True, slots=True, repr=False)
class WrittenTemplates(Result):
    """New clozes, in a file for a person to look through.

    Attributes:
        output: the file.
        written: the relations that it has now and had not.
        failed: those for which nothing was written, with the reasons.
        kept: how many relations it had before, which are as they were.
        loaded: whether it was loaded into the graph.
    """

    output: Path
    written: "Sequence[WrittenRelation]"
    failed: "Sequence[WrittenRelation]"
    kept: int
    loaded: bool

    @property
    def columns(self) -> Sequence[str]:
        """The relation, the cloze, and what the model makes of it."""
        return ("relation", "label", "cloze", "written_by", "log_probability", "told_apart")

    def rows(self) -> list[dict[str, Any]]:
        """One a cloze that was written.

        ``log_probability`` is of the objects of facts behind it, ``told_apart`` the share of pairs of facts that the
        model tells from the same pairs with their objects swapped; None where no model wrote it.
        """
        return [*_cloze_rows(self.written)]

    def tables(self) -> list[Table]:
        """One, of all clozes."""
        rows = [
            {
                "relation": f"{row['label']} ({row['relation']})" if row["label"] else row["relation"],
                "cloze": row["cloze"],
                "log Pl": None if row["log_probability"] is None else round(row["log_probability"], 3),
                "told apart": "" if row["told_apart"] is None else f"{row['told_apart']:.0%}",
            }
            for row in self.rows()
        ]
        return [Table("clozes", "", rows)] if rows else []

    def to_dict(self) -> dict[str, Any]:
        """Everything as one object."""
        return {
            "output": str(self.output),
            "written": [
                {
                    "relation": one.relation.id,
                    "label": one.relation.label,
                    "clozes": list(one.relation.clozes),
                    **one.remarks(),
                }
                for one in self.written
            ],
            "failed": [
                {"relation": one.relation.id, "label": one.relation.label, "reason": one.reason} for one in self.failed
            ],
            "kept": self.kept,
            "loaded": self.loaded,
        }

    def summary(self) -> str:
        """What was written, in a sentence; nothing where there was nothing to write."""
        if not (self.written or self.failed or self.loaded):
            return ""
        return f"{counted(len(self.written), 'relation')} written to {self.output}{', and loaded' * self.loaded}."


def _cloze_rows(written: "Sequence[WrittenRelation]") -> Iterator[dict[str, Any]]:
    for one in written:
        weighed = {each.cloze: each for each in one.weighed}
        for cloze in one.relation.clozes:
            its = weighed.get(cloze)
            yield {
                "relation": one.relation.id,
                "label": one.relation.label,
                "cloze": cloze,
                "written_by": one.written_by,
                "log_probability": None if its is None else its.log_probability,
                "told_apart": None if its is None else its.paired,
            }


@dataclass(frozen=True, slots=True, repr=False)
class ConvertedTemplates(Result):
    """Public patterns as templates, in a file.

    Attributes:
        output: the file.
        relations: what it has.
        problems: messages about lines and patterns that could not be used.
    """

    output: Path
    relations: Sequence[Relation]
    problems: Sequence[str]

    @property
    def columns(self) -> Sequence[str]:
        """The relation and its template."""
        return ("relation", "label", "kind", "template")

    def rows(self) -> list[dict[str, Any]]:
        """One a template."""
        return [
            {"relation": relation.id, "label": relation.label, "kind": kind, "template": template}
            for relation in self.relations
            for kind in KINDS
            for template in getattr(relation, f"{kind}s")
        ]

    def tables(self) -> list[Table]:
        """One, of all templates."""
        rows = [
            {
                "relation": _name(relation),
                "clozes": len(relation.clozes),
                "mined clozes": len(relation.mined_clozes),
                "statements": len(relation.statements),
            }
            for relation in self.relations
        ]
        return [Table("converted", "", rows)]

    def to_dict(self) -> dict[str, Any]:
        """How much there is of everything, as one object."""
        return {
            "output": str(self.output),
            "relations": len(self.relations),
            "clozes": sum(len(relation.clozes) for relation in self.relations),
            "mined_clozes": sum(len(relation.mined_clozes) for relation in self.relations),
            "statements": sum(len(relation.statements) for relation in self.relations),
            "without_cloze": sum(not relation.clozes and not relation.mined_clozes for relation in self.relations),
            "problems": len(self.problems),
        }

    def summary(self) -> str:
        """How much there is of everything, in a sentence."""
        counts = self.to_dict()
        told = ", ".join(counted(counts[f"{thing}s"], thing) for thing in ("relation", "cloze", "statement"))
        told += f", {counted(counts['mined_clozes'], 'mined cloze')}" if counts["mined_clozes"] else ""
        return f"{self.output}: {told}; {counts['without_cloze']:,} without a cloze."
