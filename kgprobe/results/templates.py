"""Templates: lists, checks, written and converted ones."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Relation
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, Names, ResultRow, Table, row_dicts, row_table
from kgprobe.graph.client import Graph
from kgprobe.results.result import OldResult, RowResult, one_group
from kgprobe.verbalize.templates.check import Flaw
from kgprobe.verbalize.templates.examples import examples_of, filled_templates, relations_of
from kgprobe.verbalize.templates.file import open_for_relations, relation_line
from kgprobe.verbalize.templates.kinds import KINDS
from kgprobe.verbalize.templates.missing import MissingTemplates
from kgprobe.verbalize.templates.patterns import read_patterns
from kgprobe.verbalize.templates.writing import GENERIC, WrittenRelation

# Relations that a sentence names, at most.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class RelationRow(ResultRow):
    """First columns of rows about a relation; one column for people: ``capital (P36)``."""

    relation: str
    label: str

    def cells(self, names: Names | None = None) -> dict[str, Any]:
        """Return the cells of a table, the relation's label and id first."""
        title = f"{self.label} ({self.relation})" if self.label else self.relation
        return {"relation": title} | ResultRow.cells(self, names)


@dataclass(frozen=True, slots=True)
class TemplateRow(RelationRow):
    """Row of a list of templates.

    Attributes:
        sentence: the template, filled with a fact; None if the relation has no fact.
    """

    kind: Annotated[str, Heading("kind")]
    template: str
    sentence: str | None = None
    fact: str | None = None

    def cells(self, names: Names | None = None) -> dict[str, Any]:
        """Return the cells of a table; the template if it could not be filled."""
        return RelationRow.cells(self, names) | {"sentence": self.sentence or self.template}


@dataclass(frozen=True, slots=True, repr=False)
class TemplateList(RowResult):
    """Templates, filled with facts of the graph."""

    row, key = TemplateRow, "templates"


def fill_templates(graph: Graph, relations: Sequence[str], day: int) -> TemplateList:
    """Fill the templates of relations; see :func:`kgprobe.list_templates`."""
    rows = []
    for relation in relations_of(graph, relations):
        for filled in filled_templates(relation, examples_of(graph, relation.id, day), day):
            values = asdict(filled)
            rows.append(TemplateRow(relation.id, relation.label, **values))
    none = "No relation has templates; `kgprobe templates write` writes some."
    return TemplateList(one_group(rows), notes=() if rows else (none,))


@dataclass(frozen=True, slots=True, repr=False)
class TemplateCheck(OldResult):
    """Flaws of templates.

    Attributes:
        relations, templates: number of each that was checked.
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
        return list(map(asdict, self.flaws))

    def tables(self) -> list[Table]:
        """Return one table of all flaws."""
        return [Table("flaws", "", self.rows())] if self.flaws else []

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
        return (
            f"{counts}\nWithout a cloze: {without} ({some}). They are asked by generic ones, made from their labels;"
            " `kgprobe templates write` writes better ones."
        )


@dataclass(frozen=True, slots=True)
class WrittenRow(RelationRow):
    """Row of written templates.

    Attributes:
        source: ``model``, or ``generic`` for a template made from the label.
        reading: share of the second reading in its favour; None if it was not read.
        log_probability: of the objects of facts after a cloze; None if no local model wrote it.
        told_apart: share of pairs of facts that the model distinguishes from the same pairs with their objects swapped
            after a cloze; None if no local model wrote it.
    """

    kind: Annotated[str, Heading("kind", lambda kind: kind.replace("_", " "))]
    template: Annotated[str, Heading("template")]
    written_by: str
    source: Annotated[str, Heading("source")]
    reading: Annotated[float | None, Heading("second reading", lambda value: f"{value:.0%}", "")] = None
    log_probability: Annotated[float | None, Heading("log Pl", lambda value: round(value, 3), "")] = None
    told_apart: Annotated[float | None, Heading("distinguished", lambda value: f"{value:.0%}", "")] = None


@dataclass(frozen=True, slots=True)
class DoubtRow(RelationRow):
    """Row of templates to look through.

    Attributes:
        template: empty if the relation has none of this kind.
    """

    kind: Annotated[str, Heading("kind", lambda kind: kind.replace("_", " "))]
    template: Annotated[str, Heading("template")]
    reason: Annotated[str, Heading("reason")]


@dataclass(frozen=True, slots=True, repr=False)
class WrittenTemplates(RowResult):
    """New templates, in a file for a person to review.

    Attributes:
        written: relations that the file has now and did not have before.
        failed: relations for which nothing was written, with the reasons.
        kept: number of relations that the file had before; they are unchanged.
        loaded: True if the file was loaded into the graph.
    """

    output: Path
    written: Sequence[WrittenRelation]
    failed: Sequence[WrittenRelation]
    kept: int
    loaded: bool

    row, key = WrittenRow, "templates"

    def doubts(self) -> list[DoubtRow]:
        """Return the templates to look through, with reasons."""
        rows = []
        for each in self.written:
            ids = each.relation.id, each.relation.label
            rows += [DoubtRow(*ids, doubt.kind, doubt.template, doubt.reason) for doubt in each.doubts]
        return rows

    def tables(self) -> list[Table]:
        """Return a table of the templates, and one of those to look through."""
        doubts = self.doubts()
        return [*RowResult.tables(self), *([row_table("look_through", "To look through", doubts)] if doubts else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-compatible."""
        written, failed = [], []
        for each in (*self.written, *self.failed):
            relation = each.relation
            ids = {"relation": relation.id, "label": relation.label}
            if each.reason is None:
                templates: dict[str, list[str]] = {}
                for template in each.templates:
                    templates.setdefault(f"{template.kind}s", []).append(template.template)
                written.append({**ids, "templates": templates, **each.remarks()})
            else:
                failed.append({**ids, "reason": each.reason})
        return {
            "output": str(self.output),
            "written": written,
            "failed": failed,
            "look_through": row_dicts(self.doubts()),
            "kept": self.kept,
            "loaded": self.loaded,
        }

    def summary(self) -> str:
        """Return the number of written relations, and the file; empty if there was nothing to write."""
        if not (self.written or self.failed or self.loaded):
            return ""
        sources = Counter(template.source for each in self.written for template in each.templates)
        generic = sources[GENERIC]
        of_labels = f", {generic:,} of them made from labels" if generic and generic < sources.total() else ""
        counts = f"{counted(sources.total(), 'template')} of {counted(len(self.written), 'relation')}"
        doubts = len({(row.relation, row.kind, row.template) for row in self.doubts()})
        look = f" Look through {counted(doubts, 'template')}, listed with reasons." if doubts else ""
        return f"{counts}{of_labels}, written to {self.output}{', and loaded' * self.loaded}.{look}"


def written_templates(path: Path, missing: MissingTemplates) -> WrittenTemplates:
    """Return new templates in a file as a result."""
    rows = []
    for each in missing.written:
        for template in each.templates:
            scores = () if template.weighed is None else (template.weighed.log_probability, template.weighed.paired)
            ids = each.relation.id, each.relation.label
            texts = template.kind, template.template, each.written_by, template.source
            rows.append(WrittenRow(*ids, *texts, template.reading, *scores))
    counts = missing.written, missing.failed, missing.kept, missing.loaded
    return WrittenTemplates(one_group(rows), path, *counts, notes=missing.notes)


# Kinds of templates that are made of public patterns.
_CONVERTED = ("clozes", "mined_clozes", "statements")


@dataclass(frozen=True, slots=True)
class PatternRow(RelationRow):
    """Row of converted templates."""

    kind: str
    template: str


@dataclass(frozen=True, slots=True, repr=False)
class ConvertedTemplates(RowResult):
    """Public patterns as templates, in a file.

    Attributes:
        problems: messages about lines and patterns that could not be used.
    """

    output: Path
    relations: Sequence[Relation]
    problems: Sequence[str]

    row, key = PatternRow, "converted"

    def tables(self) -> list[Table]:
        """Return one table with the number of templates of each relation."""
        rows = []
        for relation in self.relations:
            counts = {kind.replace("_", " "): len(getattr(relation, kind)) for kind in _CONVERTED}
            rows.append(RelationRow(relation.id, relation.label).cells() | counts)
        return [Table(self.key, "", rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of relations and templates."""
        counts = {kind: sum(len(getattr(relation, kind)) for relation in self.relations) for kind in _CONVERTED}
        without = sum(not relation.clozes and not relation.mined_clozes for relation in self.relations)
        return {
            "output": str(self.output),
            "relations": len(self.relations),
            **counts,
            "without_cloze": without,
            "problems": len(self.problems),
        }

    def summary(self) -> str:
        """Return the numbers of relations and templates in a sentence."""
        counts = self.to_dict()
        listed = ", ".join(counted(counts[f"{thing}s"], thing) for thing in ("relation", "cloze", "statement"))
        listed += f", {counted(counts['mined_clozes'], 'mined cloze')}" if counts["mined_clozes"] else ""
        return f"{self.output}: {listed}; {counts['without_cloze']:,} without a cloze."


def convert_files(files: Sequence[Path], mined: Sequence[Path], output: Path) -> ConvertedTemplates:
    """Write a file of relations from files of patterns; see :func:`kgprobe.convert_patterns`."""
    patterns = read_patterns(files, mined)
    usable = [relation for relation in patterns.relations if any(getattr(relation, kind) for kind in _CONVERTED)]
    rows = []
    for relation in usable:
        for kind in KINDS:
            templates = getattr(relation, f"{kind}s")
            rows += [PatternRow(relation.id, relation.label, kind, template) for template in templates]
    if not usable:
        names = ", ".join(map(attrgetter("name"), [*files, *mined]))
        first = " ".join(patterns.problems[:1])
        raise KgprobeError(f"No pattern in {names} can be used; nothing is written. {first}".rstrip())
    with open_for_relations(output, overwrite=True) as file:
        file.writelines(map(relation_line, usable))
    problems = tuple(patterns.problems)
    return ConvertedTemplates(one_group(rows), output, usable, problems, notes=problems)
