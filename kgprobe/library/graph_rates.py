"""``kgprobe.estimate_rates``: how much of the whole graph a model knows, asked until that is told exactly enough."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kgprobe.analysis.graph_rates import ENOUGH, GraphRates, estimate_run, share_of
from kgprobe.arguments import several, whole_number
from kgprobe.asking.watch import NOBODY, Stop, Watch
from kgprobe.drawn_estimates import Estimate
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.library.looks import Look
from kgprobe.library.rounds import open_run, resume_rounds
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import model_name
from kgprobe.tables import Table
from kgprobe.texts import counted

# Between two looks at how wide the interval is, the rounds of a run grow by this at most: what was drawn while it was
# too wide is looked at again and again, and each look could stop by luck.
_GROWTH = 1.5
_LEAST_GROWTH = 1.1


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class EstimatedRates(Look):
    """How much of the whole graph a model knows; one row for all facts and for each group.

    Attributes:
        rates: the estimates.
        overall: that of all facts.
        stopped: why asking ended; None where nothing was asked.
        reason: more on that, in a sentence.
    """

    rates: GraphRates
    overall: Estimate
    stopped: Stop | None = None
    reason: str | None = None

    columns: ClassVar[Sequence[str]] = (
        *("by", "group", "name", "facts", "right", "low", "high", "standard_error"),
        *("expected", "drawn", "answers_worth"),
    )

    @property
    def width(self) -> float:
        """Of the interval of the rate of all facts."""
        return self.overall.high - self.overall.low

    @property
    def model(self) -> str:
        """What people call the model."""
        return model_name(self.rates.run["model"])

    def rows(self) -> list[dict[str, Any]]:
        """All facts first, then the groups of each kind."""
        rows = [_row("all", None, None, self.rates.facts, self.overall)]
        for grouping in self.rates.groupings:
            rows += [_row(grouping.by, group.id, group.name, group.facts, group.rate) for group in grouping.groups]
        return rows

    def tables(self) -> list[Table]:
        """All facts and relations; types, thirds of popularity, years."""
        tables = []
        whole = _cells("of", "all facts", self.rates.facts, self.overall)
        if not any(grouping.by == "relation" for grouping in self.rates.groupings):
            tables.append(Table("overall", "All facts", [whole]))
        for grouping in self.rates.groupings:
            groups = [_cells(grouping.by, group.name, group.facts, group.rate) for group in grouping.groups]
            first = grouping.by == "relation"
            rows = [{grouping.by: "all facts", **dict(list(whole.items())[1:])}, *groups] if first else groups
            notes = [f"{grouping.left_out:,} more have fewer than {ENOUGH} questions."] if grouping.left_out else []
            tables.append(Table(f"by_{grouping.by}", f"By {_TITLES.get(grouping.by, grouping.by)}", rows, notes))
        return tables

    def summary(self) -> str:
        """What the model knows, and what the estimate was worth."""
        overall = self.overall
        told = (
            f"{self.model} is right on {share_of(overall)} of this graph's {counted(self.rates.facts, 'fact')},"
            f" asked or not, by {counted(self.rates.answers, 'answer')}; {overall.raw:.0%} were expected."
        )
        if overall.labels_worth is not None:
            told += f" Drawn uniformly, {overall.labels_worth:,.0f} answers would have told as much."
        return told

    def as_json(self) -> dict[str, Any]:
        """Everything, with stable keys."""
        run = self.rates.run
        return {
            "run": run["id"],
            "model": run["model"],
            "probe": run["probe"],
            "sampling": run["sampling"],
            "predictors": list(self.rates.predictors),
            "facts": self.rates.facts,
            "answers": self.rates.answers,
            "drawn": self.rates.drawn,
            "stopped": self.stopped and self.stopped.value,
            "reason": self.reason,
            "rates": self.rows(),
        }


_TITLES = {"type": "type of the subject", "popularity": "popularity of the subject"}


def estimate_rates(
    graph: Graph,
    run: str | None = None,
    *,
    predictors: Sequence[str] = (),
    width: float | None = None,
    rounds: int | None = None,
    year_relation: str | None = None,
    model: Model | None = None,
    models: Models | None = None,
    watch: Watch = NOBODY,
) -> EstimatedRates:
    """How much of the whole graph a model knows, by the answers of a run: all facts, asked or not, with 95% intervals.

    >>> run = kgprobe.run_rounds(
    ...     graph, "demo", rounds=4, batch=16, distractors=3, aim="estimate", name="to-estimate"
    ... )
    >>> kgprobe.estimate_rates(graph, "to-estimate").rows()[0]["drawn"]
    64

    The interval contains the mean over all askable facts in at least 95% of runs, for every choice of questions and
    every prediction: answers correct the predictions, each weighted by the inverse of its fact's inclusion probability.

    Args:
        run: its name; None is the one that was begun last. Its facts were drawn with known probabilities where its
            ``sampling`` is information, hardest or monte-carlo; of thompson, an eighth were.
        predictors: names of runs of other models, or of this one in another way, on the same graph: facts that were
            hard for them are expected to be hard.
        width: ask until the interval of all facts is no wider; as the run was begun. None asks nothing.
        rounds: how many rounds the run shall have at most.
        year_relation: as in :func:`kgprobe.run_rounds`.
        model: as in :func:`kgprobe.resume_rounds`.
        watch: told, and asked, as it goes.

    Raises:
        UnknownNameError: there is no such run or relation.
        ArgumentError: a value cannot be.
        KgprobeError: no fact of the run was drawn with a known probability, its answers are on another machine, or what
            :func:`kgprobe.resume_rounds` raises.

    Cost: the run's answers, and a pass over all facts whenever there are a quarter more of them.
    """
    run = open_run(graph, run).name
    of_years = None if year_relation is None else relation_ids(graph, [year_relation])[0]
    others = [open_run(graph, other).name for other in several("predictors", predictors)]
    if run in others:
        raise ArgumentError("predictors", f"has {run!r}, the run itself; others are expected.")
    if width is not None and not 0 < width < 1:
        raise ArgumentError("width", f"is {width}; a number between 0 and 1 is expected.")
    if rounds is not None and width is None:
        raise ArgumentError("rounds", "is about asking on, which needs `width`.")
    most = math.inf if rounds is None else whole_number("rounds", rounds)
    found = _estimate(graph, run, others, of_years, groups=width is None)
    if width is None:
        return found
    while found.width > width:
        done, wanted = found.rates.run["round"], (found.width / width) ** 2
        if done >= most:
            reason = f"The interval is {found.width:.3f} wide, and all {done:,} rounds are done."
            found = dataclasses.replace(found, stopped=Stop.DONE, reason=reason)
            break
        total = min(most, max(done + 1, math.ceil(done * min(_GROWTH, max(_LEAST_GROWTH, wanted)))))
        report = resume_rounds(graph, run, model, rounds=int(total), models=models, watch=watch).report
        found = _estimate(graph, run, others, of_years, groups=False)
        if report.stopped is not Stop.DONE:
            found = dataclasses.replace(found, stopped=report.stopped, reason=report.reason)
            break
    else:
        found = dataclasses.replace(found, stopped=Stop.SURE_ENOUGH)
    whole = _estimate(graph, run, others, of_years, groups=True)
    return dataclasses.replace(whole, stopped=found.stopped, reason=found.reason)


def _estimate(
    graph: Graph, run: str, predictors: Sequence[str], year_relation: str | None, *, groups: bool
) -> EstimatedRates:
    rates = estimate_run(graph, run, predictors=predictors, year_relation=year_relation, groups=groups)
    if rates.overall is None:
        how = rates.run["sampling"]
        why = (
            "it has too few answers yet"
            if how in ("information", "hardest", "monte-carlo")
            else f"nobody can say how probably it asked each fact (its sampling is {how!r}; it may be older than that)"
        )
        raise KgprobeError(
            f"Run {run!r} tells nothing of the whole graph: {why}. `kgprobe rounds run --aim estimate` begins one that"
            " does."
        )
    return EstimatedRates(rates=rates, overall=rates.overall)


def _row(by: str, group: str | None, name: str | None, facts: int, rate: Estimate) -> dict[str, Any]:
    return {
        "by": by,
        "group": group,
        "name": name,
        "facts": facts,
        "right": rate.value,
        "low": rate.low,
        "high": rate.high,
        "standard_error": rate.standard_error,
        "expected": rate.raw,
        "drawn": rate.labelled,
        "answers_worth": rate.labels_worth,
    }


def _cells(by: str, name: str, facts: int, rate: Estimate) -> dict[str, Any]:
    return {
        by: name,
        "facts": facts,
        "questions": rate.labelled,
        "right": share_of(rate),
        "expected": f"{rate.raw:.0%}",
    }
