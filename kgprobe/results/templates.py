"""Templates: lists, checks, written and converted ones."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar

from kgprobe.base.errors import KgprobeError
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, Names, ResultRow
from kgprobe.graph.client import Graph
from kgprobe.results.result import Listing, Result
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.templates.check import Flaw
from kgprobe.verbalize.templates.examples import examples_of, filled_templates, relations_of
from kgprobe.verbalize.templates.file import open_for_relations, relation_line
from kgprobe.verbalize.templates.kinds import KINDS
from kgprobe.verbalize.templates.patterns import read_patterns
from kgprobe.verbalize.templates.writing import GENERIC, MissingTemplates

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
class TemplateList(Result):
    """Templates, filled with facts of the graph."""

    templates: Annotated[Sequence[TemplateRow], Listing("")]


def fill_templates(graph: Graph, relations: Sequence[str], day: int) -> TemplateList:
    """Fill the templates of relations; see :func:`kgprobe.list_templates`."""
    rows = []
    for relation in relations_of(graph, relations):
        for filled in filled_templates(
            relation, examples_of(graph, relation.id, day), day, language_of(graph.language)
        ):
            values = asdict(filled)
            rows.append(TemplateRow(relation.id, relation.label, **values))
    none = "No relation has templates; `kgprobe templates write` writes some."
    return TemplateList(rows, notes=() if rows else (none,))


@dataclass(frozen=True, slots=True, repr=False)
class TemplateCheck(Result):
    """Flaws of templates.

    Attributes:
        relations, templates: number of each that was checked.
        without_clozes: ids of the active relations that have no cloze template.
    """

    relations: int
    templates: int
    flaws: Annotated[Sequence[Flaw], Listing("")]
    without_clozes: Sequence[str]

    properties: ClassVar[Sequence[str]] = ("errors",)

    @property
    def errors(self) -> int:
        """Number of flaws that make a template unusable, or its question wrong."""
        return sum(flaw.severity == "error" for flaw in self.flaws)

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


@dataclass(frozen=True, slots=True)
class FailedRelation(RelationRow):
    """A relation for which nothing was written, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class WrittenTemplates(Result):
    """New templates, in a file for a person to review.

    Attributes:
        templates: new templates of relations that the file did not have before.
        look_through: the templates to look through, with reasons.
        failed: relations for which nothing was written.
        kept: number of relations that the file had before; they are unchanged.
        loaded: True if the file was loaded into the graph.
    """

    output: Path
    templates: Annotated[Sequence[WrittenRow], Listing("")]
    look_through: Annotated[Sequence[DoubtRow], Listing("To look through")]
    failed: Annotated[Sequence[FailedRelation], Listing()]
    kept: int
    loaded: bool

    def summary(self) -> str:
        """Return the number of written relations, and the file; empty if there was nothing to write."""
        if not (self.templates or self.failed or self.loaded):
            return ""
        generic = sum(row.source == GENERIC for row in self.templates)
        of_labels = f", {generic:,} of them made from labels" if 0 < generic < len(self.templates) else ""
        relations = counted(len({row.relation for row in self.templates}), "relation")
        counts = f"{counted(len(self.templates), 'template')} of {relations}"
        doubts = len({(row.relation, row.kind, row.template) for row in self.look_through})
        look = f" Look through {counted(doubts, 'template')}, listed with reasons." if doubts else ""
        return f"{counts}{of_labels}, written to {self.output}{', and loaded' * self.loaded}.{look}"


def written_templates(path: Path, missing: MissingTemplates) -> WrittenTemplates:
    """Return new templates in a file as a result."""
    rows, doubts = [], []
    for each in missing.written:
        ids = each.relation.id, each.relation.label
        for template in each.templates:
            scores = () if template.weighed is None else (template.weighed.log_probability, template.weighed.paired)
            texts = template.kind, template.template, each.written_by, template.source
            rows.append(WrittenRow(*ids, *texts, template.reading, *scores))
        doubts += [DoubtRow(*ids, doubt.kind, doubt.template, doubt.reason) for doubt in each.doubts]
    failed = [FailedRelation(each.relation.id, each.relation.label, each.reason or "") for each in missing.failed]
    return WrittenTemplates(path, rows, doubts, failed, missing.kept, missing.loaded, notes=missing.notes)


# Kinds of templates that are made of public patterns.
_CONVERTED = {"cloze": "clozes", "mined_cloze": "mined clozes", "statement": "statements"}


@dataclass(frozen=True, slots=True)
class PatternRow(RelationRow):
    """Row of converted templates."""

    kind: str
    template: str


@dataclass(frozen=True, slots=True, repr=False)
class ConvertedTemplates(Result):
    """Public patterns as templates, in a file; the notes are about lines and patterns that could not be used.

    Attributes:
        relations, clozes, mined_clozes, statements: numbers of relations, and of their templates by kind.
        without_cloze: number of the relations without a cloze.
    """

    output: Path
    relations: int
    clozes: int
    mined_clozes: int
    statements: int
    without_cloze: int
    templates: Annotated[Sequence[PatternRow], Listing()]

    @property
    def counts(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("")]:
        """Number of templates of each relation, by kind."""
        rows: dict[str, dict[str, Any]] = {}
        for row in self.templates:
            counts = rows.setdefault(row.relation, {**row.cells(), **dict.fromkeys(_CONVERTED.values(), 0)})
            if row.kind in _CONVERTED:
                counts[_CONVERTED[row.kind]] += 1
        return list(rows.values())

    def summary(self) -> str:
        """Return the numbers of relations and templates in a sentence."""
        listed = ", ".join(counted(getattr(self, f"{thing}s"), thing) for thing in ("relation", "cloze", "statement"))
        listed += f", {counted(self.mined_clozes, 'mined cloze')}" if self.mined_clozes else ""
        return f"{self.output}: {listed}; {self.without_cloze:,} without a cloze."


def convert_files(files: Sequence[Path], mined: Sequence[Path], output: Path) -> ConvertedTemplates:
    """Write a file of relations from files of patterns; see :func:`kgprobe.convert_patterns`."""
    patterns = read_patterns(files, mined)
    usable = [relation for relation in patterns.relations if any(getattr(relation, f"{kind}s") for kind in _CONVERTED)]
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
    counts = {f"{kind}s": sum(row.kind == kind for row in rows) for kind in _CONVERTED}
    without = sum(not relation.clozes and not relation.mined_clozes for relation in usable)
    return ConvertedTemplates(
        output, len(usable), **counts, without_cloze=without, templates=rows, notes=tuple(patterns.problems)
    )
