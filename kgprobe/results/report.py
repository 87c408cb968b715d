"""Report: several results on one page, compared with each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from kgprobe.answers.settings import digest_of
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Table
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.models.spec_forms import model_name
from kgprobe.results.answers import Stored
from kgprobe.results.comparison import Comparison, compare_results
from kgprobe.results.finding import Finding, unknown_count
from kgprobe.results.finding_page import (
    finding_lead,
    finding_sections,
    first_sections,
    map_sections,
    matrix_section,
    result_sections,
    scope_sentence,
    section_to_dict,
    write_results_page,
)
from kgprobe.results.judged_graph import JudgedGraph
from kgprobe.results.knowledge_gap import gap_between
from kgprobe.results.measurement import Run
from kgprobe.results.rendering.page import Section, table_section, write_page
from kgprobe.results.result import Result, StoredResult, write_result_files
from kgprobe.results.shared_facts import labels_of

if TYPE_CHECKING:
    import pandas as pd

Reported: TypeAlias = Stored | JudgedGraph

PAGE = "report.html"
# Results in a title.
_IN_TITLE = 2
# Number of tables on several results together that are not folded.
_OPEN_TABLES = 1
# Suspects that a report lists.
_SUSPECTS = 25
# Maximum length of a folder's name, in characters.
_LONGEST = 60
# Headings of the columns of suspects.
_SUSPECT = {
    "subject": "subject",
    "relation": "relation",
    "object": "object",
    "models": "models",
    "known": "known",
    "around": "facts around it",
    "known_around": "known around it",
}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class StoredReport(StoredResult):
    """A report as its folder has it: its page, and what the page begins with.

    Attributes:
        title, lead: as of a :class:`Report`.
    """

    title: str
    lead: Sequence[str]

    file: ClassVar[str] = "report"

    def summary(self) -> str:
        """Return the answer in a few sentences."""
        return "\n".join([self.title, *self.lead])

    def page(self, folder: Path | None = None) -> Path:
        """Return the path of the page, or copy it into a folder.

        Raises:
            KgprobeError: the page was deleted, or a file cannot be written.
        """
        return self.stored_page(folder)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Report(Result):
    """Several results on one page; its rows are the asked facts of each.

    Attributes:
        title, lead: title, and the answer in a few sentences.
        sections: sections of the page, except the list of asked facts and the settings.
        findings: those of runs and measurements, with their labels.
        extra: figures of several results together, by name.
        config: the results and their settings.
        folder: target of :meth:`page`.
    """

    title: str = ""
    lead: Sequence[str]
    sections: Sequence[Section]
    findings: Sequence[Finding]
    judged: Sequence[JudgedGraph]
    extra: Mapping[str, Any]
    config: Mapping[str, Any]
    folder: Path

    def summary(self) -> str:
        """Return the answer in a few sentences."""
        return "\n".join([self.title, *self.lead])

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns of the facts."""
        return list(self.facts_frame().columns)

    def records(self) -> list[dict[str, Any]]:
        """Return the asked facts of every result."""
        records: list[Any] = self.facts_frame().to_dict("records")
        return records

    def tables(self) -> list[Table]:
        """Return the tables of the sections."""
        return [section.values["table"] for section in self.sections if section.kind == "table"]

    def facts_frame(self) -> "pd.DataFrame":
        """Return every asked fact of every result, with its answers, belief and latest question."""
        return _joined({finding.label: finding.facts for finding in self.findings})

    def expected_frame(self) -> "pd.DataFrame":
        """Return the facts on the map that were not asked, with the probability of knowing them, by every run."""
        return _joined({finding.label: finding.whole.expected for finding in self.findings if finding.whole})

    def to_dict(self) -> dict[str, Any]:
        """Return everything on the page, with stable keys: each section with its rows, and every asked fact."""
        return {
            "title": self.title,
            "lead": list(self.lead),
            "results": [{"label": finding.label, **finding.to_dict()} for finding in self.findings],
            "judged": [result.to_dict() for result in self.judged],
            "sections": list(map(section_to_dict, self.sections)),
            **self.extra,
            "expected_facts": self.expected_frame().to_dict("records"),
            "facts": self.facts_frame().to_dict("records"),
        }

    def page(self, path: str | Path | None = None) -> Path:
        """Write the page, which is self-contained, and return its path.

        Args:
            path: the file; None writes below kgprobe's own folder.

        Raises:
            KgprobeError: it cannot be written.
        """
        target = self.folder / PAGE if path is None else Path(path)
        if path is None:
            about = StoredReport(title=self.title, lead=self.lead, config=self.config)
            write_result_files(self.folder, about.file, about.to_dict(), {})
        if not self.findings:
            return write_page(target, self.title, self.lead, self.sections)
        # Pages of several results have their sentences below the matrix.
        lead = [scope_sentence(self.findings[0])] if len(self.findings) == 1 else []
        return write_results_page(target, self.title, lead, self.sections, self.findings)


def _joined(frames: "Mapping[str, pd.DataFrame]") -> "pd.DataFrame":
    """Return the rows of results, with the label of the result as the last column."""
    import pandas as pd

    labelled = [frame.assign(result=label) for label, frame in frames.items()]
    joined: pd.DataFrame = pd.concat(labelled, ignore_index=True) if labelled else pd.DataFrame()
    return joined


def report_on(results: Sequence[Reported], seed: int) -> Report:
    """Combine different results, at least one, on one page; see :func:`kgprobe.make_report`."""
    judged = [result for result in results if isinstance(result, JudgedGraph)]
    probed = [result for result in results if not isinstance(result, JudgedGraph)]
    labels = labels_of([result.about for result in probed])
    findings = [replace(result.finding(), label=label) for result, label in zip(probed, labels, strict=True)]
    draft = _Draft()
    if len(findings) == 1:
        draft.sections += finding_sections(findings[0])
        draft.lead += finding_lead(findings[0])
    elif findings:
        draft.add_several(probed, findings, seed)
    for graph in judged:
        draft.add_judged_graph(graph)
    config = {"results": [str(result.folder) for result in results], "seed": seed}
    return Report(
        title=draft.title or _title(findings, judged),
        lead=draft.lead,
        sections=draft.sections,
        findings=findings,
        judged=judged,
        extra=draft.extra,
        config=config,
        folder=home() / "reports" / f"{_joined_names(results)}-{digest_of(config)}",
    )


def _joined_names(results: Sequence[Reported]) -> str:
    """Return the names of runs, and of the folders of other results, cut to the length of a folder's name."""
    names = "-".join(result.name if isinstance(result, Run) else result.folder.name for result in results)
    return names[:_LONGEST].rstrip("-. ")


def _title(findings: Sequence[Finding], judged: Sequence[JudgedGraph]) -> str:
    """Return the title of a page without a comparison."""
    if not findings:
        models = list(dict.fromkeys(model_name(result.config.judge.answers_of) for result in judged))
        return f"Judged answers of {' and '.join(models)} on a whole graph"
    if len(findings) == 1:
        return findings[0].share_known
    titles = [_labelled_title(finding) for finding in findings[:_IN_TITLE]]
    return f"{'; '.join(titles)}{'; …' if len(findings) > _IN_TITLE else ''}"


def _labelled_title(finding: Finding) -> str:
    """Return the title of a finding with its label in place of its model."""
    return finding.label + finding.share_known.removeprefix(finding.about.called)


@dataclass(slots=True)
class _Draft:
    """Parts of a report: title, sections, first sentences, notes, and figures for programs by name."""

    title: str = ""
    sections: list[Section] = field(default_factory=list)
    lead: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def add_several(self, asked: Sequence[Stored], findings: Sequence[Finding], seed: int) -> None:
        """Add at least two results, compared with each other."""
        self.lead += map(_lead_of, findings)
        compared = self._compare(asked, seed)
        self.extra["unknown_to_all"] = _unknown_to_all(findings)
        if compared is None:
            self.lead.insert(0, self.notes.pop())
        else:
            self._add_comparison(compared)
        self._add_gaps(asked)
        self._add_two_ways([] if compared is not None and compared.two_ways else asked, seed)
        self._add_suspects(asked)
        paragraphs = list(dict.fromkeys([*self.lead, *self.notes]))
        self.sections = [
            *first_sections(findings),
            matrix_section({finding.label: finding.facts for finding in findings}),
            Section("text", "In words", {"paragraphs": paragraphs}),
            *map_sections(findings),
            *(
                replace(section, folded=place >= _OPEN_TABLES and section.kind == "table" and bool(section.title))
                for place, section in enumerate(self.sections)
            ),
        ]
        for result in findings:
            for place, section in enumerate(result_sections(result)):
                # The table of contents names each result once.
                title = section.title and f"{result.label}: {section.title}"
                self.sections.append(
                    replace(section, title=title, short=result.label, listed=not place, folded=bool(title))
                )

    def add_judged_graph(self, judged: JudgedGraph) -> None:
        """Add a judged graph."""
        label = f"{judged.config.judge.answers_of}, judged"
        paragraphs = {"paragraphs": [judged.summary(), *judged.notes]}
        self.lead.append(judged.summary())
        self.sections.append(Section("text", f"{label}: the whole graph", paragraphs, of=label))
        for section in map(table_section, judged.tables()):
            self.sections.append(replace(section, title=f"{label}: {section.title}", of=label, listed=False))

    def _compare(self, asked: Sequence[Stored], seed: int) -> Comparison | None:
        """Return the comparison on shared facts; None, with a note, if no fact is shared."""
        try:
            return compare_results(asked, seed)
        except KgprobeError as error:
            self.notes.append(str(error))
            return None

    def _add_comparison(self, compared: Comparison) -> None:
        """Add the comparison on shared facts; facts on which the results differ are for programs."""
        self.title = compared.title
        self.lead[:0] = filter(None, [compared.unshared])
        self.lead.append(compared.summary())
        self.notes += compared.notes
        self.sections += compared.page_sections()
        facts = compared.facts_frame()
        rights = [f"{label}: right" for label in compared.labels]
        self.extra["disagreements"] = facts[facts[rights].nunique(axis="columns") > 1].to_dict("records")
        self.extra["comparison"] = compared.to_dict()

    def _add_gaps(self, asked: Sequence[Stored]) -> None:
        """Add knowledge gaps of all pairs of a scoring and a generating result of one model."""
        gaps = []
        for pair in combinations(asked, 2):
            stored, said = pair if pair[0].kind.asks == "scores" else pair[::-1]
            if (stored.kind.asks, said.kind.asks, stored.model) == ("scores", "answers", said.model):
                try:
                    gaps.append(gap_between(stored, said))
                except KgprobeError as error:
                    message = str(error).removeprefix("`said` ")
                    self.notes.append(
                        f"The knowledge gap of {said.model} cannot be computed: {said.folder.name} {message}"
                    )
        for gap in gaps:
            # If there are several, each names its results.
            stored_in, said_in = Path(gap.config["stored"]).name, Path(gap.config["said"]).name
            which = "" if len(gaps) == 1 else f"{stored_in} and {said_in}: "
            self.lead.append(f"{which}{gap.summary()}")
            for table in gap.tables():
                section = table_section(replace(table, title=f"{which}{table.title}"))
                self.sections.append(replace(section, short="Known and missed"))
        self.extra["gaps"] = [gap.to_dict() for gap in gaps]

    def _add_two_ways(self, asked: Sequence[Stored], seed: int) -> None:
        """Add comparisons of all pairs of results of one model and probe that differ in direction or language."""
        two_ways = []
        for first, second in combinations(asked, 2):
            ways = [(each.reversed, each.about.ask_in) for each in (first, second)]
            if ways[0] != ways[1] and (first.model, first.kind.name) == (second.model, second.kind.name):
                try:
                    pair = compare_results([first, second], seed)
                except KgprobeError:
                    continue
                if pair.two_ways is not None:
                    self.sections += map(table_section, pair.two_ways.tables())
                    two_ways.append(pair.two_ways.to_dict())
        self.extra["two_ways"] = two_ways

    def _add_suspects(self, asked: Sequence[Stored]) -> None:
        """Add facts that several runs' models surely deny among facts that they know."""
        suspects = _find_suspects(asked)
        self.extra["suspects"] = suspects or []
        if not suspects:
            return
        rows = [dict(zip(_SUSPECT.values(), map(row.__getitem__, _SUSPECT), strict=True)) for row in suspects]
        models = counted(len(set(map(attrgetter("model"), asked))), "model")
        note = (
            "Two models at least surely deny these facts and none surely knows them, of relations and among facts that"
            f" they know: perhaps the graph is wrong, not the {models}."
        )
        table = Table("suspects", "Suspects: perhaps the graph is wrong", rows, [note])
        self.sections.append(table_section(table))


def _find_suspects(asked: Sequence[Stored]) -> list[dict[str, Any]] | None:
    """Return facts that several runs' models deny; None without runs of two models in one graph."""
    runs = [result for result in asked if isinstance(result, Run) and not result.reversed]
    if len(set(map(attrgetter("model"), runs))) < 2 or len({id(run.graph) for run in runs}) > 1:
        return None
    names = [run.name for run in runs]
    limits = {"models": 2, "around": 3, "candidates": 1_000, "limit": _SUSPECTS}
    suspects = list(map(dict, runs[0].graph.read("explore/suspects", runs=names, **limits)))
    for row in suspects:
        row.pop("path", None)
    return suspects


def _lead_of(finding: Finding) -> str:
    """Return one sentence on a result: unknown facts, then the share that is known."""
    least = finding.ranked_relations.least_text
    parts = [unknown_count(finding), least[:1].lower() + least[1:]]
    measure = finding.measure
    known = f"{finding.share} of {finding.share_of} known"
    parts.append(known if measure is None else f"{measure} ({measure.details})")
    return f"{finding.label}: {'; '.join(filter(None, parts))}."


def _unknown_to_all(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the facts that are surely unknown to every result, in the order of ids, with each prediction."""
    unknown = []
    for result in findings:
        is_unknown = result.facts["belief"] == BeliefWord.SURELY_UNKNOWN.value
        unknown.append(result.facts[is_unknown].set_index("fact"))
    shared = sorted(set(unknown[0].index).intersection(*map(attrgetter("index"), unknown[1:])))
    frame = unknown[0].loc[shared, ["question", "answer"]].rename(columns={"answer": "right answer"})
    for result, facts in zip(findings, unknown, strict=True):
        frame[result.label] = facts.loc[shared, "prediction"]
    rows: list[dict[str, Any]] = frame.rename_axis("fact").reset_index().to_dict("records")
    return rows
