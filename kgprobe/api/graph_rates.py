"""``kgprobe.estimate_rates``: how much of the whole graph a model knows, to a wanted precision."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kgprobe.analysis.graph_rates import GraphRates, estimate_run, share_of
from kgprobe.api.looks import Look
from kgprobe.api.rounds import open_run, resume_rounds
from kgprobe.arguments import several, whole_number
from kgprobe.beliefs.register import SAMPLING_RULES
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import model_name
from kgprobe.report.graph_rate_tables import graph_rate_tables
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks, Stop
from kgprobe.sanitize import counted
from kgprobe.stats.design_based import Estimate
from kgprobe.stats.proportions import answers_for_width
from kgprobe.tables import Table

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
        return graph_rate_tables(self.rates)

    def summary(self) -> str:
        """What the model knows, and what the estimate was worth."""
        overall = self.overall
        told = (
            f"{self.model} knows {share_of(overall)} of this graph's {counted(self.rates.facts, 'fact')}, estimated"
            f" from {counted(self.rates.answers, 'answer')}; {overall.raw:.0%} was predicted."
        )
        if 0 < self.width < 1:
            told += f" As wide as the interval of {self.uniform_answers:,} uniformly drawn answers without predictions."
        return told

    @property
    def uniform_answers(self) -> int:
        """The number of answers about uniformly drawn facts whose interval, without predictions, is as wide."""
        return answers_for_width(self.overall.value, self.width)

    def questions_for(self, precision: float) -> tuple[int, int]:
        """Return how many more questions this run probably needs for a precision, and a new uniform run in all.

        The width of an interval falls with the square root of the answers.

        Args:
            precision: half the width of the interval, in (0, 0.5).
        """
        more = self.rates.answers * ((self.width / (2 * precision)) ** 2 - 1)
        return max(0, math.ceil(more)), answers_for_width(self.overall.value, 2 * precision)

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


def estimate_rates(
    graph: Graph,
    run: str | None = None,
    *,
    predictors: Sequence[str] = (),
    precision: float | None = None,
    rounds: int | None = None,
    year_relation: str | None = None,
    model: Model | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> EstimatedRates:
    """Estimate how much of the whole graph a model knows from the answers of a run, with 95% intervals.

    >>> run = kgprobe.run_rounds(
    ...     graph, "demo", rounds=4, batch=16, distractors=3, aim="estimate", name="to-estimate"
    ... )
    >>> kgprobe.estimate_rates(graph, "to-estimate").rows()[0]["drawn"]
    64

    The interval contains the mean over all askable facts in at least 95% of runs, for every choice of questions and
    every prediction: answers correct the predictions, each weighted by the inverse of its fact's inclusion probability.

    Args:
        run: its name; None is the one that was begun last. Its facts were drawn with known probabilities where its
            ``sampling`` is information, hardest or uniform; of thompson, an eighth were.
        predictors: names of runs of other models, or of this one in another way, on the same graph: facts that were
            hard for them are expected to be hard.
        precision: ask until the interval of all facts is at most this much on either side, half its width, in (0, 0.5);
            with the options the run was begun with. None asks nothing.
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
    if precision is not None and not 0 < precision < 0.5:
        raise ArgumentError("precision", f"is {precision}; a number between 0 and 0.5 is expected.")
    if rounds is not None and precision is None:
        raise ArgumentError("rounds", "limits the questions for a `precision`; give one.")
    most = math.inf if rounds is None else whole_number("rounds", rounds)
    found = _estimate(graph, run, others, of_years, groups=precision is None)
    if precision is None:
        return found
    width = 2 * precision
    while found.width > width:
        done, wanted = found.rates.run["round"], (found.width / width) ** 2
        if done >= most:
            reason = f"The interval is ±{found.width / 2:.3f} after all {done:,} rounds; --rounds allows more."
            found = dataclasses.replace(found, stopped=Stop.DONE, reason=reason)
            break
        total = min(most, max(done + 1, math.ceil(done * min(_GROWTH, max(_LEAST_GROWTH, wanted)))))
        report = resume_rounds(graph, run, model, rounds=int(total), models=models, callbacks=callbacks).report
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
        sampling = rates.run["sampling"]
        why = (
            "it has too few answers yet"
            if SAMPLING_RULES[sampling].inclusion_known
            else f"inclusion probabilities are unknown for sampling={sampling}"
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
