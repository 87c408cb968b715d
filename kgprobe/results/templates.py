"""Templates: lists, checks, written and converted ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from kgprobe.records import Relation
from kgprobe.results.result import Heading, Result, ResultRow, row_dicts
from kgprobe.sanitize import counted
from kgprobe.tables import Table
from kgprobe.verbalize.templates.check import Flaw
from kgprobe.verbalize.templates.filled import FilledTemplate
from kgprobe.verbalize.templates.kinds import KINDS

if TYPE_CHECKING:
    from kgprobe.verbalize.templates.writers import WrittenRelation

# Relations that a sentence names, at most.
_NAMED = 5


def _title(id_: str, label: str | None) -> str:
    return f"{label} ({id_})" if label else id_


@dataclass(frozen=True, slots=True, repr=False)
class TemplateList(Result):
    """Templates, filled with facts of the graph.

    Attributes:
        templates: pairs of a relation and its filled template, in order.
    """

    templates: Sequence[tuple[Relation, FilledTemplate]]

    columns: ClassVar[Sequence[str]] = ("relation", "label", "kind", "template", "sentence", "fact")

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each template; ``sentence`` and ``fact`` are None if the relation has no fact."""
        return [
            {"relation": relation.id, "label": relation.label, **asdict(filled)} for relation, filled in self.templates
        ]

    def tables(self) -> list[Table]:
        """Return one table of all templates."""
        rows = [
            {
                "relation": _title(relation.id, relation.label),
                "kind": filled.kind,
                "sentence": filled.sentence or filled.template,
            }
            for relation, filled in self.templates
        ]
        return [Table("templates", "", rows)] if rows else []


@dataclass(frozen=True, slots=True, repr=False)
class TemplateCheck(Result):
    """Flaws of templates.

    Attributes:
        relations, templates: number of each that was checked.
        flaws: the flaws.
        without_clozes: ids of the active relations that have no cloze template.
    """

    relations: int
    templates: int
    flaws: Sequence[Flaw]
    without_clozes: Sequence[str]

    columns: ClassVar[Sequence[str]] = ("relation", "kind", "template", "severity", "problem")

    @property
    def errors(self) -> int:
        """Number of flaws that make a template unusable, or its question wrong."""
        return sum(flaw.severity == "error" for flaw in self.flaws)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each flaw."""
        return [asdict(flaw) for flaw in self.flaws]

    def tables(self) -> list[Table]:
        """Return one table of all flaws."""
        columns = ("severity", "relation", "kind", "template", "problem")
        rows = [{column: getattr(flaw, column) for column in columns} for flaw in self.flaws]
        return [Table("flaws", "", rows)] if rows else []

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-compatible."""
        return {
            "relations": self.relations,
            "templates": self.templates,
            "flaws": self.rows(),
            "without_clozes": list(self.without_clozes),
            "errors": self.errors,
        }

    def summary(self) -> str:
        """Return the numbers of templates, errors and warnings, and the relations without a cloze."""
        warnings = len(self.flaws) - self.errors
        counts = (
            f"{counted(self.templates, 'template')} of {counted(self.relations, 'relation')}:"
            f" {counted(self.errors, 'error')}, {counted(warnings, 'warning')}."
        )
        if not self.without_clozes:
            return counts
        some = ", ".join(self.without_clozes[:_NAMED]) + (", …" if len(self.without_clozes) > _NAMED else "")
        without = counted(len(self.without_clozes), "relation")
        return f"{counts}\nWithout a cloze: {without} ({some}); `kgprobe templates write` writes some."


@dataclass(frozen=True, slots=True)
class ClozeRow(ResultRow):
    """Row of written clozes.

    Attributes:
        log_probability: of the objects of facts after the cloze; None if no model wrote it.
        told_apart: share of pairs of facts that the model distinguishes from the same pairs with their objects swapped;
            None if no model wrote it.
    """

    relation: str
    label: str
    cloze: Annotated[str, Heading("cloze")]
    written_by: str | None
    log_probability: Annotated[float | None, Heading("log Pl", lambda value: round(value, 3))]
    told_apart: Annotated[float | None, Heading("distinguished", lambda value: f"{value:.0%}", "")]


@dataclass(frozen=True, slots=True, repr=False)
class WrittenTemplates(Result):
    """New clozes, in a file for a person to review.

    Attributes:
        output: the file.
        written: relations that the file has now and did not have before.
        failed: relations for which nothing was written, with the reasons.
        kept: number of relations that the file had before; they are unchanged.
        loaded: True if the file was loaded into the graph.
    """

    output: Path
    written: "Sequence[WrittenRelation]"
    failed: "Sequence[WrittenRelation]"
    kept: int
    loaded: bool

    columns: ClassVar[Sequence[str]] = ClozeRow.columns()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each written cloze."""
        return row_dicts(self._cloze_rows())

    def tables(self) -> list[Table]:
        """Return one table of all clozes."""
        rows = [{"relation": _title(row.relation, row.label), **row.cells()} for row in self._cloze_rows()]
        return [Table("clozes", "", rows)] if rows else []

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-compatible."""
        written = [
            {
                "relation": each.relation.id,
                "label": each.relation.label,
                "clozes": list(each.relation.clozes),
                **each.remarks(),
            }
            for each in self.written
        ]
        failed = [
            {"relation": each.relation.id, "label": each.relation.label, "reason": each.reason} for each in self.failed
        ]
        return {
            "output": str(self.output),
            "written": written,
            "failed": failed,
            "kept": self.kept,
            "loaded": self.loaded,
        }

    def summary(self) -> str:
        """Return the number of written relations, and the file; empty if there was nothing to write."""
        if not (self.written or self.failed or self.loaded):
            return ""
        return f"{counted(len(self.written), 'relation')} written to {self.output}{', and loaded' * self.loaded}."

    def _cloze_rows(self) -> list[ClozeRow]:
        rows = []
        for written in self.written:
            weighed = {each.cloze: each for each in written.weighed}
            for cloze in written.relation.clozes:
                weight = weighed.get(cloze)
                rows.append(
                    ClozeRow(
                        written.relation.id,
                        written.relation.label,
                        cloze,
                        written.written_by,
                        None if weight is None else weight.log_probability,
                        None if weight is None else weight.paired,
                    )
                )
        return rows


@dataclass(frozen=True, slots=True, repr=False)
class ConvertedTemplates(Result):
    """Public patterns as templates, in a file.

    Attributes:
        output: the file.
        relations: relations with their templates.
        problems: messages about lines and patterns that could not be used.
    """

    output: Path
    relations: Sequence[Relation]
    problems: Sequence[str]

    columns: ClassVar[Sequence[str]] = ("relation", "label", "kind", "template")

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each template."""
        rows = []
        for relation in self.relations:
            for kind in KINDS:
                templates = getattr(relation, f"{kind}s")
                first = {"relation": relation.id, "label": relation.label, "kind": kind}
                rows += [{**first, "template": template} for template in templates]
        return rows

    def tables(self) -> list[Table]:
        """Return one table with the number of templates of each relation."""
        rows = [
            {
                "relation": _title(relation.id, relation.label),
                "clozes": len(relation.clozes),
                "mined clozes": len(relation.mined_clozes),
                "statements": len(relation.statements),
            }
            for relation in self.relations
        ]
        return [Table("converted", "", rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of relations and templates."""
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
        """Return the numbers of relations and templates in a sentence."""
        counts = self.to_dict()
        listed = ", ".join(counted(counts[f"{thing}s"], thing) for thing in ("relation", "cloze", "statement"))
        listed += f", {counted(counts['mined_clozes'], 'mined cloze')}" if counts["mined_clozes"] else ""
        return f"{self.output}: {listed}; {counts['without_cloze']:,} without a cloze."
