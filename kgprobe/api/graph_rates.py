"""``kgprobe.estimate_rates``: estimate the share of the whole graph that a model knows, to a given precision."""

import dataclasses
import math
from collections.abc import Sequence

from kgprobe.api.rounds import open_run, resume_rounds
from kgprobe.arguments import several, whole_number
from kgprobe.beliefs.register import SAMPLING_RULES
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.results.graph_rates import GraphRates, estimate_run
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks, Stop
from kgprobe.running.runs import get_run

# Growth of the number of rounds between two checks of the precision: each check could stop by chance.
_GROWTH = 1.5
_LEAST_GROWTH = 1.1


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
) -> GraphRates:
    """Estimate the share of the whole graph that a model knows from the answers of a run, with 95% intervals.

    >>> run = kgprobe.run_rounds(
    ...     graph, "demo", rounds=4, facts_per_round=16, distractors=3, aim="estimate", name="to-estimate"
    ... )
    >>> kgprobe.estimate_rates(graph, "to-estimate").rows()[0]["drawn"]
    64

    The interval contains the mean over all askable facts in at least 95% of runs, for every choice of questions and
    every prediction: answers correct the predictions, each weighted by the inverse of its fact's inclusion probability.

    Args:
        run: name of the run; None is the latest. Inclusion probabilities are known for the sampling rules information,
            hardest and uniform; for thompson, of an eighth of the facts.
        predictors: names of runs on the same graph, by other models or probes: facts that were hard for them are
            predicted to be hard.
        precision: half the width of the interval of all facts, in (0, 0.5): questions are asked until it is reached,
            with the options of the run. None asks no questions.
        rounds: maximum number of rounds of the run.
        year_relation, callbacks: as in :func:`kgprobe.run_rounds`.
        model: as in :func:`kgprobe.resume_rounds`.

    Raises:
        UnknownNameError: no such run or relation.
        ArgumentError: a value is out of range.
        KgprobeError: no inclusion probability is known, the answers are on another machine, or the run cannot be
            resumed (see :func:`kgprobe.resume_rounds`).

    Cost: the run's answers, and a pass over all facts whenever there are a quarter more of them.
    """
    run = open_run(graph, run).name
    years = None if year_relation is None else relation_ids(graph, [year_relation])[0]
    others = [open_run(graph, other).name for other in several("predictors", predictors)]
    if run in others:
        raise ArgumentError("predictors", f"has {run!r}, the run itself; expected other runs.")
    _check_precision(precision, rounds)
    most = math.inf if rounds is None else whole_number("rounds", rounds)
    estimate = _estimate(graph, run, others, years, groups=precision is None)
    if precision is None:
        return estimate
    stopped, reason = Stop.SURE_ENOUGH, None
    while estimate.overall.width > 2 * precision:
        done = estimate.run["round"]
        if done >= most:
            stopped = Stop.DONE
            reason = (
                f"The interval is ±{estimate.overall.width / 2:.3f} after all {done:,} rounds; --rounds allows more."
            )
            break
        total = int(min(most, _next_rounds(done, estimate.overall.width / (2 * precision))))
        report = resume_rounds(graph, run, model, rounds=total, models=models, callbacks=callbacks).report
        estimate = _estimate(graph, run, others, years, groups=False)
        if report.stopped is not Stop.DONE:
            stopped, reason = report.stopped, report.reason
            break
    whole = _estimate(graph, run, others, years, groups=True)
    return dataclasses.replace(whole, stopped=stopped, reason=reason)


def _check_precision(precision: float | None, rounds: int | None) -> None:
    if precision is not None and not 0 < precision < 0.5:
        raise ArgumentError("precision", f"is {precision}; expected a number between 0 and 0.5.")
    if rounds is not None and precision is None:
        raise ArgumentError("rounds", "limits the questions for a `precision`; give one.")


def _next_rounds(done: int, times_too_wide: float) -> int:
    """Return the number of rounds after which to check the precision again."""
    growth = min(_GROWTH, max(_LEAST_GROWTH, times_too_wide**2))
    return max(done + 1, math.ceil(done * growth))


def _estimate(
    graph: Graph, run: str, predictors: Sequence[str], year_relation: str | None, *, groups: bool
) -> GraphRates:
    rates = estimate_run(graph, run, predictors=predictors, year_relation=year_relation, groups=groups)
    if rates is None:
        sampling = get_run(graph, run)["sampling"]
        why = (
            "it has too few answers yet"
            if SAMPLING_RULES[sampling].inclusion_known
            else f"inclusion probabilities are unknown for sampling={sampling}"
        )
        raise KgprobeError(
            f"Run {run!r} gives no estimate for the whole graph: {why}. Start one that does with"
            " `kgprobe rounds run PROBE --aim estimate`."
        )
    return rates
