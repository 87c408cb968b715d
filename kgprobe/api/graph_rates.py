"""``kgprobe.estimate_rates``: how much of the whole graph a model knows, to a wanted precision."""

import dataclasses
import math
from collections.abc import Sequence

from kgprobe.analysis.graph_rates import estimate_run
from kgprobe.api.rounds import open_run, resume_rounds
from kgprobe.arguments import several, whole_number
from kgprobe.beliefs.register import SAMPLING_RULES
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.results.graph_rates import EstimatedRates
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks, Stop

# Between two looks at how wide the interval is, the rounds of a run grow by this at most: what was drawn while it was
# too wide is looked at again and again, and each look could stop by luck.
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
) -> EstimatedRates:
    """Estimate how much of the whole graph a model knows from the answers of a run, with 95% intervals.

    >>> run = kgprobe.run_rounds(
    ...     graph, "demo", rounds=4, facts_per_round=16, distractors=3, aim="estimate", name="to-estimate"
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
            f"Run {run!r} tells nothing of the whole graph: {why}. `kgprobe rounds run PROBE --aim estimate` begins"
            " one that does."
        )
    return EstimatedRates(rates=rates, overall=rates.overall)
