"""``kgprobe.run_rounds`` and other calls about runs: start, resume, open, list, forget, estimate."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import date
from functools import partial
from typing import Any

import msgspec

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks, Stop
from kgprobe.answers.settings import keep_declined
from kgprobe.base.arguments import optional_folder_name, several, share_below, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.options import documented, make_options
from kgprobe.base.progress import OnProgress, no_progress
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import asked_by, reversal_of
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import LocalOptions
from kgprobe.probes.register import PROBES, ProbeContext
from kgprobe.results.graph_rates import GraphRates, estimate_to_precision, estimate_whole
from kgprobe.results.measurement import Run, open_run, run_of
from kgprobe.running.measurement import check_helpers
from kgprobe.running.plan import Asking, Plan, RoundsOptions, plan_of
from kgprobe.running.rounds import RunReport, continue_run, show_run
from kgprobe.running.runs import at_start, begin_run, check_new_run, forget_run, get_run, new_run_name, run_names
from kgprobe.running.view import hide_view
from kgprobe.sampling.drawing import Draw
from kgprobe.sampling.years import year_relation_id


@documented(RoundsOptions, parameters=[Draw, Asking])
def run_rounds(
    graph: Graph,
    model: Model | str,
    probe: str = "distractors",
    *,
    name: str | None = None,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    year_relation: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    view: bool = True,
    on_progress: OnProgress = no_progress,
    **options: Any,
) -> Run:
    """Start a run of adaptive rounds: each asks facts chosen by the sampling rule, and updates the beliefs.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=1, facts_per_round=4, distractors=3, name="first-look")
    >>> run.report.rounds, len(run.answers_frame())
    (1, 4)
    >>> run.to_frame()[["right", "wrong", "belief"]].iloc[0].tolist()  # doctest: +SKIP
    [0, 1, 'leans unknown']

    Cost of a round: its batch and the batch's neighbours; see :mod:`kgprobe.running.rounds`.

    Args:
        model, probe: as in :func:`kgprobe.measure`.
        name: name of the run; None makes one from model, probe and time.
        year_relation: id or name of a relation whose date at the subject is the fact's year in findings; ``start`` is
            the year in which the fact began; None chooses, see :mod:`kgprobe.sampling.years`. Does not affect the run.
        view: True to write the beliefs onto the facts after each round, and at the end those about all facts, in place
            of another run's; see :func:`apply_beliefs`. False leaves the facts as they are.
        on_progress: called while the beliefs of another run are removed, and those of this one written at the end.
        options: the other parameters, and options of the probe, with the defaults of :func:`kgprobe.measure`, except
            ``sentences=1`` of distractors: a sentence is drawn for each question.

    Raises:
        UnknownNameError: no such probe, model or relation.
        ArgumentError: no such option, a value is out of range, or the name is not valid for a folder.
        KgprobeError: the run's name is taken, or the graph has no facts to ask.
    """
    kind = PROBES.get(probe)
    seed, name = whole_number("seed", seed, 0), optional_folder_name(name)
    own = {field.name: options.pop(field.name) for field in fields(RoundsOptions) if field.name in options}
    rounds_options = make_options(RoundsOptions, own, "rounds")
    chosen = kind.options_from({**kind.in_rounds, **options})
    opened = models or Models()
    probed = opened.open_asked(model)
    check_helpers(opened, probed, options)
    relations = relation_ids(graph, several("relations", relations))
    year_relation = year_relation_id(graph, year_relation)
    if name is not None:
        check_new_run(graph, name)
    probed.refresh()
    day = as_of_day(as_of)
    made_probe = kind.make(ProbeContext(graph, probed, opened, day, relations), chosen)
    run = name or new_run_name(probed.name, asked_by(probe, reversal_of(graph) is not None, graph.language))
    plan = Plan(run, day, seed, rounds_options)
    local = None if probed.local is None else asdict(probed.local)
    kept = {"options": asdict(chosen), "relations": list(relations)}
    kept_json, local_json = (msgspec.json.encode(value).decode() for value in (kept, local))
    begin_run(graph, made_probe, plan, kind.name, kept_json, local_json)
    report = continue_run(
        graph,
        made_probe,
        plan,
        callbacks,
        kind=kind,
        batch=kind.batch_size if opened.can_draw_ahead(probed) else None,
        view=view,
        on_progress=on_progress,
    )
    result = run_of(graph, plan.run, report, year_relation)
    keep_declined(result.folder, opened.spending.declined)
    if result.report.facts == 0:
        forget_run(graph, plan.run)
        raise KgprobeError(
            f"The graph has no facts to ask: none of {', '.join(made_probe.relations)} is current at {day} with names"
            " of subject and object. Load facts, or choose another date with `as_of`."
        )
    return result


def run_each(
    graph: Graph,
    asked: Sequence[Model | str],
    probe: str = "distractors",
    *,
    name: str | None = None,
    models: Models | None = None,
    **options: Any,
) -> Iterator[Run]:
    """Start a run of each of several models with the same settings, one after the other; yield each when it ends.

    An interrupted run is the last one. :func:`kgprobe.compare` compares the runs on the facts that all of them asked.

    >>> for run in kgprobe.run_each(graph, ["demo", "hf:gpt2"], rounds=4, name="capitals"):  # doctest: +SKIP
    ...     print(run.name, run.report.asked)

    Args:
        asked: models or specs; each is asked once.
        name: name of the runs, followed by the model if there are several; None makes names as :func:`run_rounds`.
        models, options: as in :func:`run_rounds`. ``callbacks.on_start`` gets the name of the run as the title.

    Raises:
        ArgumentError: a revision is given for several models.
        UnknownNameError, KgprobeError: as in :func:`run_rounds`; the names and specs of all runs are checked first.
    """
    opened = models or Models()
    probed = list({each.name: each for each in map(opened.open_asked, asked)}.values())
    if opened.local.revision is not None and len(probed) > 1:
        raise ArgumentError("revision", f"applies to one model; {len(probed)} are given.")
    kind = PROBES.get(probe)
    check_helpers(opened, probed[0], options)
    name = optional_folder_name(name)
    names = run_names(
        name, [model.name for model in probed], asked_by(kind.name, reversal_of(graph) is not None, graph.language)
    )
    for each in names:
        check_new_run(graph, each)
    return _run_each(graph, dict(zip(names, probed, strict=True)), probe, models=opened, **options)


def _run_each(graph: Graph, asked: Mapping[str, Model], probe: str, **options: Any) -> Iterator[Run]:
    callbacks = options.pop("callbacks", NO_CALLBACKS)
    for name, model in asked.items():
        run = run_rounds(graph, model, probe, name=name, callbacks=callbacks.titled(name), **options)
        yield run
        if run.report.stopped is Stop.ASKED_TO:
            return


def resume_rounds(
    graph: Graph,
    run: str,
    model: Model | None = None,
    *,
    rounds: int | None = None,
    year_relation: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    view: bool = True,
    on_progress: OnProgress = no_progress,
) -> Run:
    """Resume a run with its own options, facts and sentences; a finished run is returned.

    If a load has changed the graph since, ``callbacks.on_start`` gets the differences.

    Args:
        run: name of the run.
        model: model of the run; None opens it by its spec, with the run's device, precision and revision.
        rounds: new total number of rounds; None keeps the run's.
        year_relation, view, on_progress: as in :func:`run_rounds`.

    Raises:
        UnknownNameError: no such run or relation.
        ArgumentError: more rounds are finished already.
        KgprobeError: the model or the settings have changed, or another process uses the run.
    """
    year_relation = year_relation_id(graph, year_relation)
    properties = get_run(graph, run)
    if rounds is not None and rounds < properties["round"]:
        raise ArgumentError("rounds", f"is {rounds}; {properties['round']} rounds are finished already.")
    plan = plan_of(properties)
    kind = PROBES.get(properties["probe"])
    kept = msgspec.json.decode(properties["options"])
    opened = models or Models()
    local = msgspec.json.decode(properties["local"])
    probed = opened.open_asked(model or properties["model"], None if local is None else LocalOptions(**local))
    probed.refresh()
    then, _ = at_start(graph.in_language(properties.get("ask_in")), properties)
    context = ProbeContext(then, probed, opened, plan.as_of, kept["relations"])
    made_probe = kind.make(context, kind.options_from(kept["options"]))
    if rounds is not None:
        plan = replace(plan, options=replace(plan.options, rounds=rounds))
    report = continue_run(
        graph,
        made_probe,
        plan,
        callbacks,
        kind=kind,
        batch=kind.batch_size if opened.can_draw_ahead(probed) else None,
        view=view,
        on_progress=on_progress,
    )
    result = run_of(graph, plan.run, report, year_relation)
    keep_declined(result.folder, opened.spending.declined)
    return result


def apply_beliefs(graph: Graph, run: str | None = None, *, on_progress: OnProgress = no_progress) -> int:
    """Bring a run into view: write its beliefs onto all facts that it can ask; return the number of these facts.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=1, facts_per_round=4, distractors=3, name="seen", view=False)
    >>> shown = kgprobe.apply_beliefs(graph, "seen")
    >>> text = "MATCH ()-[f:FACT]->() WHERE f.belief <> 'not asked' RETURN f.alpha AS alpha, f.beta AS beta"
    >>> len(graph.query(text))
    4

    The properties of a fact: ``alpha``, ``beta``, ``theta`` (the probability that the model fails), its 90% interval
    ``low`` and ``high``, ``right``, ``wrong``, ``asked``, ``round`` (the last one that touched it), and ``belief``:
    a word of the finding, or ``not asked`` with the expectation. An interrupted call is continued.

    Cost: a walk through all facts to remove another run's beliefs; a credible interval and a write for each fact.

    Args:
        run: name of the run; None is the latest.
        on_progress: called while beliefs are removed and written.

    Raises:
        UnknownNameError: no such run, or the graph has no runs.
        KgprobeError: another process uses the run, or brings another one into view.
    """
    return show_run(graph, open_run(graph, run).name, on_progress)


def remove_beliefs(graph: Graph, *, on_progress: OnProgress = no_progress) -> int:
    """Remove the beliefs of the run in view from the facts; return the number of these facts.

    The beliefs themselves are kept with their run.

    Args:
        on_progress: called while entities are cleared.

    Cost: a walk through all facts, if a run is in view.
    """
    return hide_view(graph, on_progress)


def estimate_rates(
    graph: Graph,
    run: str | None = None,
    *,
    predictors: Sequence[str] = (),
    precision: float | str | None = None,
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

    The interval contains the mean over all askable facts for every choice of questions and every prediction: answers
    correct the predictions, each weighted by the inverse of its fact's inclusion probability. With ``precision`` a run
    stops by its own interval, which then contains the mean in at least 93.5% of runs, not 95%, with 48 or more
    questions per round, and in at least 92% with fewer.

    Args:
        run: name of the run; None is the latest. Inclusion probabilities are known for the sampling rules information,
            hardest and uniform; for thompson, of an eighth of the facts.
        predictors: names of runs on the same graph, by other models or probes: facts that were hard for them are
            predicted to be hard.
        precision: half the width of the interval of all facts, a share below 0.5 such as ``"2%"`` or 0.02: questions
            are asked until it is reached, with the options of the run. None asks no questions.
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
    years = year_relation_id(graph, year_relation)
    others = [open_run(graph, other).name for other in several("predictors", predictors)]
    if run in others:
        raise ArgumentError("predictors", f"has {run!r}, the run itself; expected other runs.")
    if precision is not None:
        precision = share_below("precision", precision, 0.5, positive=True)
    elif rounds is not None:
        raise ArgumentError("rounds", "limits the questions for a `precision`; give one.")
    most = math.inf if rounds is None else whole_number("rounds", rounds)
    estimate = partial(estimate_whole, graph, run, predictors=others, year_relation=years)
    if precision is None:
        return estimate()

    def resume(total: int) -> RunReport:
        return resume_rounds(graph, run, model, rounds=total, models=models, callbacks=callbacks, view=False).report

    return estimate_to_precision(estimate, resume, precision, most)
