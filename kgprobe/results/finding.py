"""The finding of a run or a measurement, by any probe: rates with intervals, known and unknown facts.

docs/methods/findings.md. Metrics count a fact's own answers only. In a run, answers about neighbours change the
probability of knowing a fact, by which facts are ranked, but never the win rate or the zero-sense rate.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Annotated, Any

import numpy as np
import pandas as pd

from kgprobe.answers.settings import given_name
from kgprobe.answers.table import Answers
from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Points, Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow, Table, flat_row, row_dicts
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.beliefs.group_rates import (
    SHOWN_GROUPS,
    AnswerRates,
    Grouping,
    GroupRates,
    answer_rates,
    answers_table,
    by_popularity,
    by_year,
    group_of,
    grouped,
)
from kgprobe.beliefs.summary import BeliefWord, summarize
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_names
from kgprobe.probes.outcome import Headline, Verdict
from kgprobe.results.about import About
from kgprobe.results.about_facts import about_dataset, read_about_facts
from kgprobe.results.believed_graph import BelievedGraph, graph_of_asked, graph_of_run
from kgprobe.results.graph_rates import GraphRates
from kgprobe.results.ranked_relations import RankedRelations, rank_relations
from kgprobe.results.result import SHOWN_FACTS, Result
from kgprobe.sampling.outdated import NO_OUTDATED, OutdatedAnswers, outdated_answers
from kgprobe.sampling.years import FACT_START, YearSource
from kgprobe.stats.proportions import CONFIDENCE, against_guessing

# Columns of the table of asked facts, and of their questions.
FACT_COLUMNS = (
    *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
    *("right", "wrong", "refused", "off_format", "guessed", "known", "known_low", "known_high", "theta", "belief"),
    *("popularity", "year"),
)
ASK_COLUMNS = ("question", "answer", "prediction", "probability", "names", "text", "former", "prompt")

_DETAILS = tuple(name for name in ASK_COLUMNS if name not in ("question", "answer", "prediction"))

# Kinds of groups whose bounds depend on the facts.
_OWN_BOUNDS = ("popularity", "year")
# Facts in a summary, and characters of a name in it.
_FACTS, _LONGEST_NAME = 2, 200


@dataclass(frozen=True, slots=True)
class ShownFact(ResultRow):
    """A listed fact with its answers and its belief.

    Attributes:
        question: the latest question that the model got right for a known fact, and wrong for an unknown fact.
        answer: the right answer to ``question``.
        prediction: the model's answer to that question, for an unknown fact.
        known: the probability that the model knows the fact, E[1 - theta], with its 90% credible interval.
        belief: see :mod:`kgprobe.beliefs.summary`.
    """

    fact: str
    subject: str
    question: Annotated[str, Heading("question")]
    answer: Annotated[str, Heading("right answer")]
    prediction: Annotated[str | None, Heading("prediction")]
    relation: Annotated[str, Heading("relation")]
    right: Annotated[int, Heading("right")]
    wrong: Annotated[int, Heading("wrong")]
    known: Annotated[Share, Heading("known")]
    belief: BeliefWord


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Finding(Result):
    """The finding of a run or a measurement; its rows are the asked facts.

    Attributes:
        label: its name among the results of a page; empty for the name of the run or measurement.
        chance: the probability that a random guess is right, over the questions; None if unknown. Groups have the win
            rate of a guesser.
        asked: number of answers.
        mean_known: the mean probability of knowing an asked fact, 1 - E[theta].
        overall: all asked facts.
        groupings: the same by relation, by entity (a fact counts for its subject and its object), by the subject's
            types, by thirds of its popularity, and by year. Groupings without groups are left out.
        unknown: facts that are unknown, then those that lean to unknown, by increasing upper bound of knowing them.
        known: facts that are known, then those that lean to known, by decreasing lower bound.
        believed: number of asked facts by belief word.
        facts: one row per asked fact. ``FACT_COLUMNS``: ids and labels, own answers, a guesser's probability to win it,
            the probability of knowing it with its 90% credible interval, E[theta], belief word, the subject's
            popularity (NaN if unknown), and the year (None if unknown). ``ASK_COLUMNS``: its latest question that
            agrees with its verdict: right answer, the model's (None if right), probability of the right answer, pairs
            (name, probability) of the alternatives, generated text, preferred name that was right at an earlier date.
        unaskable, unanswered: numbers of facts that could not be asked, and of questions without answers, by reason.
        measure: the measure that replaces the win rate in the headline; None where the probe has none.
        answer_rates: for a probe that reads answers in words, the rates of all facts, then of the largest relations.
        over_graph: estimated rates over the whole graph; None where inclusion probabilities are unknown.
        outdated: answers that were right at an earlier date.
        whole: expected facts and shares known by type, for the first bar and the map of a page; None if not computed.
    """

    about: About
    chance: float | None
    asked: int
    mean_known: float
    overall: GroupRates
    groupings: Sequence[Grouping[GroupRates]]
    probe_tables: Sequence[Table]
    unknown: Sequence[ShownFact]
    known: Sequence[ShownFact]
    believed: Mapping[BeliefWord, int]
    facts: pd.DataFrame = field(compare=False)
    unaskable: Mapping[str, int] = field(default_factory=dict)
    unanswered: Mapping[str, int] = field(default_factory=dict)
    measure: Headline | None = None
    answer_rates: Sequence[AnswerRates] = ()
    over_graph: GraphRates | None = None
    outdated: OutdatedAnswers = NO_OUTDATED
    whole: BelievedGraph | None = None
    label: str = ""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns of ``facts``."""
        return [*FACT_COLUMNS, *ASK_COLUMNS]

    @property
    def has_silence(self) -> bool:
        """True if wrong answers include refusals or answers off the format."""
        return self.overall.heard < self.overall.facts or self.overall.heard_win_rate != self.overall.win_rate

    @property
    def year_source(self) -> YearSource | None:
        """The source of the years; None if no fact has one."""
        return next((grouping.source for grouping in self.groupings if grouping.by == "year"), None)

    @property
    def headline(self) -> str:
        """The probe's leading measure, or else the share that the model knows, compared with chance."""
        return self.share_known if self.measure is None else f"{self.about.called} is {self.measure}"

    @property
    def share(self) -> Share:
        """The share of known facts: estimated over the graph, or else of the asked facts."""
        return self.overall.win_rate if self.over_graph is None else self.over_graph.overall.right

    @property
    def guessed(self) -> float | None:
        """The same share for a guesser; None if unknown."""
        return self.chance if self.chance is None or self.over_graph is not None else self.overall.guessed

    @property
    def share_of(self) -> str:
        """The facts that ``share`` is of, in words."""
        return f"the {counted(self.overall.facts, 'fact')} asked" if self.over_graph is None else self.over_graph.scope

    @property
    def share_known(self) -> str:
        """The share of known facts compared with chance, in a sentence without its stop."""
        verb = "knows" if self.share.low > (self.guessed or 0) else "is right on"
        backwards = " backwards" if self.about.reversed else ""
        text = f"{self.about.called} {verb} {self.share} of {self.share_of}{backwards}"
        return text + against_guessing(self.share, self.guessed)

    @property
    def ranked_relations(self) -> RankedRelations:
        """The relations that are known least and best: over the graph where rates can be estimated, else as asked."""
        groupings: Sequence[Grouping[Any]] = self.groupings
        facts = self.overall.facts
        if self.over_graph is not None:
            groupings, facts = self.over_graph.groupings, self.over_graph.facts
        by_relation = (grouping for grouping in groupings if grouping.by == "relation")
        return rank_relations(next(by_relation, Grouping("relation", (), 0)), self.share.value, facts)

    @property
    def scope(self) -> str:
        """The numbers of questions and facts, in words."""
        return f"{counted(self.asked, 'question')} about {counted(self.overall.facts, 'fact')}"

    def records(self) -> list[dict[str, Any]]:
        """Return the asked facts, by column."""
        rows: list[Any] = self.facts.to_dict("records")
        return rows

    def to_frame(self) -> pd.DataFrame:
        """Return the asked facts in pandas."""
        return self.facts

    def groups_frame(self) -> pd.DataFrame:
        """Return the rates of all groups in pandas, those of all facts first."""
        frame: pd.DataFrame = pd.DataFrame(self._group_rows())
        return frame

    def tables(self) -> list[Table]:
        """Return rates over the graph, rates of the asked facts, the probe's tables, and lists of facts."""
        return [
            *self.graph_tables(),
            *self.group_tables(),
            *self.probe_tables,
            *(table for table in self.belief_tables() if table.rows),
        ]

    def graph_tables(self) -> list[Table]:
        """Return the rates over the graph, without predictions: a page shows one number for one thing."""
        tables = []
        for table in () if self.over_graph is None else self.over_graph.tables():
            columns = [name for name in table.columns if name != "expected"]
            tables.append(
                replace(table, rows=[dict(zip(columns, map(row.get, columns), strict=True)) for row in table.rows])
            )
        return tables

    def group_tables(self) -> list[Table]:
        """Return the rates of the asked facts, one table for each kind of group.

        Groups with a rate over the graph are left out. Without any, the first table begins with all facts.
        """
        tables = []
        first, notes = [] if self.over_graph is not None else [self.overall], [*self._rates_notes()]
        for grouping in self._without_estimate():
            if grouping.source is not None:
                notes.append(grouping.source.note)
            if grouping.left_out:
                notes.append(
                    f"{grouping.left_out:,} more have fewer facts; `kgprobe show --by {grouping.by}` shows all."
                )
            if self.about.caveat is not None:
                notes.append(self.about.caveat)
            rows = [{grouping.by: group.name, **self._cells(group)} for group in [*first, *grouping.groups]]
            tables.append(Table(f"by_{grouping.by}", f"By {grouping.by}, of the facts asked", rows, notes))
            first, notes = [], []
        return tables

    def _without_estimate(self) -> Iterator[Grouping[GroupRates]]:
        """Yield the groupings of asked facts with their groups that have no rate over the graph."""
        estimated: Sequence[Grouping[Any]] = () if self.over_graph is None else self.over_graph.groupings
        ids = {grouping.by: set(map(attrgetter("group"), grouping.groups)) for grouping in estimated}
        for grouping in self.groupings:
            # Thirds and decades of the asked facts are others than those of the graph.
            if grouping.by in ids and grouping.by in _OWN_BOUNDS:
                continue
            groups = [group for group in grouping.groups if group.group not in ids.get(grouping.by, ())]
            if groups:
                yield replace(grouping, groups=groups)

    def _cells(self, group: GroupRates) -> dict[str, Any]:
        cells = group.cells()
        if self.chance is None:
            del cells["by guessing"]
        if not self.has_silence:
            del cells["win rate, heard"]
        return cells

    def _rates_notes(self) -> Iterator[str]:
        yield f"Shares of facts by their own answers, with {CONFIDENCE:.0%} intervals."
        if self.has_silence:
            yield "Refusals and answers off the format count as wrong; the last column leaves them out."
        if self.about.rounds_note is not None:
            yield self.about.rounds_note

    def belief_tables(self) -> list[Table]:
        """Return the listed facts, one table for each belief word, the surely unknown first."""
        tables = []
        for word in _LISTED_WORDS:
            listed = self.known if word.is_known else self.unknown
            facts = [fact.cells() for fact in listed if fact.belief is word]
            if not any(cells["prediction"] for cells in facts):
                for cells in facts:
                    del cells["prediction"]
            title = f"{word.value.capitalize()}: {self.believed[word]:,} of {counted(self.overall.facts, 'fact')}"
            notes = [f"Known: probability that the model knows the fact, {CREDIBILITY:.0%} interval."] if facts else []
            tables.append(Table(word.value.replace(" ", "_"), title, facts, notes))
        return tables

    def summary(self, width: int = 80) -> str:
        """Return some lines; the last are the headline and its details.

        Args:
            width: characters of a line; in place of a longer question, a fact has its subject and relation.
        """
        details = [] if self.measure is None else [f"  {self.measure.details}"]
        details += [f"  {_net_score_text(row)}" for row in self.answer_rates[:1]]
        return "\n".join([*_summary_lines(self, width), self.headline, *details])

    def to_dict(self) -> dict[str, Any]:
        """Return origin, rates, groups and the probe's tables, with stable keys; ``facts.csv`` has the facts."""
        about = asdict(self.about)
        rates: dict[str, Share | Points] = {
            "win_rate": self.overall.win_rate,
            "zero_sense_rate": self.overall.zero_sense_rate,
        }
        if self.answer_rates:
            rates["net_score"] = self.answer_rates[0].net_score
        measure, whole, lead = self.measure, self.whole, None
        if measure is not None:
            lead = {"name": measure.name, "facts": measure.facts, "value": measure.rate, "chance": measure.guessed}
        return {
            **{("config" if name == "described" else name): value for name, value in about.items()},
            "headline": self.headline,
            "headline_details": measure and measure.details,
            "headline_measure": lead and flat_row(lead),
            "caveat": self.about.caveat,
            "facts_asked": self.overall.facts,
            "questions": self.asked,
            **flat_row(rates),
            "confidence_of_rates": CONFIDENCE,
            "known": self.mean_known,
            "chance": self.chance,
            "believed": {word.value: count for word, count in self.believed.items()},
            "over_graph": self.over_graph and self.over_graph.overall.to_dict(),
            "expected": whole and {"facts": whole.unasked, "known": whole.expected_known},
            "relations": dict(zip(self.facts["relation"], self.facts["relation_label"], strict=True)),
            "year": self.year_source and asdict(self.year_source),
            "groups": self._group_rows(),
            "tables": {table.key: table.to_dict() for table in self.probe_tables},
            "unaskable": self.unaskable,
            "unanswered": self.unanswered,
        }

    def _group_rows(self) -> list[dict[str, Any]]:
        rows = [{"by": "all", **self.overall.to_dict()}]
        for grouping in self.groupings:
            rows += [{"by": grouping.by, **group} for group in row_dicts(grouping.groups)]
        return rows


def _net_score_text(row: AnswerRates) -> str:
    return (
        f"net score {row.net_score} points (right less wrong); {row.refused} refused, {row.unplaced} neither name nor"
        " refusal"
    )


_LISTED_WORDS = (
    *(BeliefWord.SURELY_UNKNOWN, BeliefWord.LEANS_UNKNOWN),
    *(BeliefWord.SURELY_KNOWN, BeliefWord.LEANS_KNOWN),
)


def make_finding(
    graph: Graph | Mapping[str, str],
    about: About,
    answers: Answers,
    *,
    over_graph: GraphRates | None = None,
    year_relation: str | None = None,
    shown: int = SHOWN_FACTS,
) -> Finding:
    """Return the finding of a run, or of a measurement, in which beliefs follow from each fact's own answers.

    Cost: a walk from each asked subject, and from the subjects of outdated answers; without rates over the graph,
    look-ups of the facts' ends, else some passes over the columns of all facts.

    Args:
        graph: the graph, or the labels of a data set's relations, by id.
        over_graph: estimated rates over the whole graph.
        year_relation: id of the relation whose date at the subject gives a fact's year; ``start`` takes the year in
            which the fact began; None chooses, see :mod:`kgprobe.sampling.years`.
        shown: maximum number of facts to list as known, and as unknown.

    Raises:
        KgprobeError: there are no answers yet.
    """
    own = answers.by_fact(*_DETAILS)
    own = own.rename(columns={"right_answer": "answer"}).rename_axis("fact").reset_index()
    unaskable = answers.reasons(Verdict.UNASKABLE)
    if about.rounds is None or isinstance(graph, Mapping):
        # Beliefs that follow from the counts alone, without a learner.
        beliefs = summarize(own.assign(alpha=1 + own["wrong"], beta=1 + own["right"]))
        intervals = {"theta": beliefs.theta, "low": beliefs.low, "high": beliefs.high}
        counts = own[["fact", "subject", "right", "wrong", "refused", "off_format"]]
        believed = counts.assign(**intervals, believed=[word.value for word in beliefs.words])
    else:
        rows = graph.read("beliefs/own_answers", run=about.name)
        unaskable = dict(Counter(filter(None, map(itemgetter("unaskable"), rows))).most_common())
        answered = [row for row in rows if row["right"] + row["wrong"] > 0]
        believed = pd.DataFrame(sorted(answered, key=itemgetter("fact")))
    if believed.empty:
        raise KgprobeError(f"{about.name!r} has no answers yet.")
    if isinstance(graph, Mapping):
        described = about_dataset(answers)
        years = YearSource(FACT_START, "start of the fact", 0, len(described))
    else:
        subjects = dict(zip(believed["fact"], believed["subject"], strict=True))
        described, years = read_about_facts(graph, subjects, year_relation)
    facts = _described(believed, described)
    facts = facts.merge(own[["fact", "guessed", *ASK_COLUMNS]], on="fact", how="left")
    asked = facts["relation"].unique().tolist()
    names = {name: graph[name] for name in asked} if isinstance(graph, Mapping) else relation_names(graph, asked)
    facts["relation_label"] = facts["relation"].map(names)
    listed = facts[[*FACT_COLUMNS, *ASK_COLUMNS]].reset_index(drop=True)
    words = [BeliefWord(word) for word in facts["belief"]]
    unknown, known = by_certainty(facts)
    rates = _answer_rates(own[own["fact"].isin(facts["fact"])], names)
    tables = [*([answers_table(rates)] if rates else []), *answers.results.tables]
    whole = None
    if not isinstance(graph, Mapping):
        # Only a run with an estimate says something about the other facts.
        whole = graph_of_asked(graph, listed) if over_graph is None else graph_of_run(graph, over_graph.run, listed)
    generic = about.described.get("generic", ())
    return Finding(
        about=about,
        chance=answers.chance,
        asked=int((facts["right"] + facts["wrong"]).sum()),
        mean_known=float(facts["known"].mean()),
        overall=group_of("all", facts),
        groupings=[each for each in _groupings(facts, names, generic, years) if each.groups],
        probe_tables=_with_caveat(tables, about.caveat),
        unknown=_shown_facts(unknown.head(shown)),
        known=_shown_facts(known.head(shown)),
        believed={word: words.count(word) for word in BeliefWord},
        facts=listed,
        unaskable=unaskable,
        unanswered=answers.reasons(Verdict.UNANSWERED),
        measure=answers.results.headline,
        answer_rates=rates,
        over_graph=over_graph,
        outdated=NO_OUTDATED if isinstance(graph, Mapping) else outdated_answers(graph, listed, about.as_of),
        whole=whole,
    )


def _answer_rates(own: pd.DataFrame, names: Mapping[str, str]) -> list[AnswerRates]:
    """Return the rates of answers in words, over all facts and by relation; empty for other probes."""
    if "texts" not in own:
        return []
    sizes = own["relation"].value_counts()
    largest = sorted(sizes.index, key=lambda relation: (-sizes[relation], relation))[:SHOWN_GROUPS]
    groups = [answer_rates(names.get(each, each), own[own["relation"] == each]) for each in largest]
    return [answer_rates("all", own), *(groups if len(sizes) > 1 else [])]


def _with_caveat(tables: Sequence[Table], caveat: str | None) -> list[Table]:
    if caveat is None:
        return list(tables)
    return [replace(table, notes=(*table.notes, caveat)) for table in tables]


def _described(answered: pd.DataFrame, about: pd.DataFrame) -> pd.DataFrame:
    """Return answers with labels, types, popularity and year of their facts."""
    if about.empty:
        raise KgprobeError("None of the asked facts is in this graph any more.")
    described = ["subject", "relation", "object"]
    facts: pd.DataFrame = answered.drop(columns=described, errors="ignore").merge(about, on="fact")
    facts["popularity"] = facts["popularity"].astype(np.float64)
    facts["belief"] = facts["believed"]
    facts["known"], facts["known_low"], facts["known_high"] = 1 - facts["theta"], 1 - facts["high"], 1 - facts["low"]
    return facts


def by_certainty(facts: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return unknown and known facts, those that are sure first, then by their credible interval."""
    words = list(map(BeliefWord, facts["belief"]))
    ranked = facts.assign(leans=[not word.is_sure for word in words])
    is_known = np.array([word.is_known for word in words], dtype=bool)
    unknown = ranked[~is_known].sort_values(["leans", "known_high", "fact"])
    known = ranked[is_known].sort_values(["leans", "known_low", "fact"], ascending=[True, False, True])
    return unknown, known


def _groupings(
    facts: pd.DataFrame, relations: Mapping[str, str], generic: Sequence[str], years: YearSource
) -> list[Grouping[GroupRates]]:
    """Return the groupings of facts.

    Args:
        relations: names of the relations, by id.
        generic: ids of the relations that were asked by generic templates.
        years: source of the years.
    """
    entities = facts[["subject", "object"]].apply(lambda row: list(dict.fromkeys(row)), axis=1)
    labels = chain(
        zip(facts["subject"], facts["subject_label"], strict=True),
        zip(facts["object"], facts["object_label"], strict=True),
    )
    types = [(type_["id"], type_["label"] or type_["id"]) for type_ in chain.from_iterable(facts["types"])]
    kinds = {relation: "generic" if relation in generic else "written" for relation in relations}
    return [
        grouped("relation", facts, facts["relation"], relations.items()),
        # A single fact is too little to rate an entity.
        grouped("entity", facts, entities, labels, least=2),
        grouped("type", facts, facts["types"].map(lambda rows: [type_["id"] for type_ in rows]), types),
        by_popularity(facts),
        replace(by_year(facts, facts["year"]), source=years),
        *([grouped("templates", facts, facts["relation"].map(kinds))] if generic else []),
    ]


def _shown_facts(facts: pd.DataFrame) -> list[ShownFact]:
    """Return listed facts, each with its latest question that agrees with its belief."""
    shown = []
    for row in facts.to_dict("records"):
        belief = BeliefWord(row["belief"])
        shown.append(
            ShownFact(
                fact=row["fact"],
                subject=row["subject_label"],
                question=row["question"],
                answer=row["answer"],
                prediction=None if belief.is_known else row["prediction"],
                relation=row["relation_label"],
                right=int(row["right"]),
                wrong=int(row["wrong"]),
                known=Share(row["known"], row["known_low"], row["known_high"]),
                belief=belief,
            )
        )
    return shown


def unknown_count(finding: Finding) -> str:
    """Return how many facts are unknown, in words: surely, where any fact is, and else by their answers.

    An interval of a measurement, with one answer a fact, is never on one side of one half. "0 are surely unknown" would
    say nothing of the model.
    """
    facts = counted(finding.overall.facts, "fact")
    surely, leaning = (finding.believed[word] for word in (BeliefWord.SURELY_UNKNOWN, BeliefWord.LEANS_UNKNOWN))
    if surely:
        return f"{surely:,} of {facts} asked {'is' if surely == 1 else 'are'} surely unknown"
    was = "was" if leaning == 1 else "were"
    if finding.about.rounds is None:
        return f"{leaning:,} of {facts} {was} answered wrong, asked once each"
    return f"{leaning:,} of {facts} asked {was} not answered right more often than wrong; none is surely unknown yet"


def _summary_lines(finding: Finding, width: int) -> Iterator[str]:
    about = finding.about
    name = given_name(about.name) or about.called
    yield from (f"{name}: {about.asked_by}, {finding.scope}{about.in_rounds}", *about.notes)
    if about.caveat is not None and finding.over_graph is None:
        yield about.caveat
    ranked = finding.ranked_relations
    yield from filter(None, (ranked.least_text, ranked.best_text))
    for fact in (*finding.unknown[:_FACTS], *finding.known[: _FACTS - 1]):
        yield _fact_line(fact, width)
    silences = ((finding.unaskable, "could not be asked"), (finding.unanswered, "got no answer"))
    left_out = [f"{sum(reasons.values()):,} {words} ({next(iter(reasons))})" for reasons, words in silences if reasons]
    if left_out:
        yield "; ".join(left_out)


def _fact_line(fact: ShownFact, width: int) -> str:
    """Return a fact in a line, which only absurdly long names make longer than a line."""
    begin = f"{fact.belief.value.capitalize()}: "
    end = f" → {_capped(fact.answer)}" + (f"; predicted: {_capped(fact.prediction)}" if fact.prediction else "")
    question = " ".join(fact.question.removesuffix("…").split())
    if len(begin) + len(question) + len(end) > width:
        question = f"{_capped(fact.subject or fact.fact)} — {_capped(fact.relation)}"
    return begin + question + end


def _capped(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
