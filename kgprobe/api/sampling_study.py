"""``kgprobe.study_sampling``: which way of choosing facts learns most from as many questions."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

from kgprobe.api.options import ReplayOptions, SyntheticOptions
from kgprobe.arguments import whole_number
from kgprobe.beliefs.reference import Synthetic, synthetic
from kgprobe.beliefs.simulation import SAMPLING_STRATEGIES, checkpoint_rounds, replay_all, shown_rounds
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home, make_folder
from kgprobe.graph.client import Graph
from kgprobe.options import make_options
from kgprobe.results.study import StudyResult, kept
from kgprobe.running.callbacks import NO_CALLBACKS, Batch, Callbacks, Start
from kgprobe.studies.demo_reference import ABOUT as ABOUT_DEMO
from kgprobe.studies.demo_reference import demo_reference
from kgprobe.studies.run_reference import reference_of_run
from kgprobe.studies.sampling import Replays, about_run, sampling_study

DEMO = "demo"


def study_sampling(
    graph: Graph | None = None,
    run: str | None = None,
    *,
    reference: str | None = None,
    seed: int = 0,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> StudyResult:
    """Which strategy of sampling learns most from as many requests: replays, no model is asked.

    Thompson and uniform sampling, each with propagation and without, sequential, and those of the learner
    hierarchical are replayed against facts of which it is known how hard they are: those of a run, those of the
    example graph for the demo model, or made-up ones, new ones for each repetition.

    >>> result = kgprobe.study_sampling(size=60, requests=240, facts_per_round=10, repetitions=2, hardest=5)
    >>> sorted(set(result.to_frame()["strategy"]))[:2]
    ['hardest + hierarchical', 'information + hierarchical']

    Cost: nine strategies times repetitions, each a pass over the facts for each round.

    Args:
        graph: that the run is in; made-up facts need none.
        run: take this run for the truth: θ of a fact is the share of its own answers that were wrong. Best is one made
            with ``sampling="sequential"``, with 20 answers a fact. None makes facts up.
        reference: ``"demo"``, which comes with kgprobe: 2,554 facts, 8 answers each.
        seed: what all random choices follow from.
        watch: told, and asked, after each replay.
        options: of :class:`~kgprobe.api.options.ReplayOptions`; without a run or a reference, also those of
            :class:`~kgprobe.api.options.SyntheticOptions`.

    Raises:
        UnknownNameError: the graph has no such run.
        ArgumentError: there is no such option, a value cannot be, or made-up facts are described beside others.
        KgprobeError: the run has too few answers, or the watch ended it.
    """
    of_facts = {name: options.pop(name) for name in [one.name for one in fields(SyntheticOptions)] if name in options}
    seed = whole_number("seed", seed, 0)
    how = make_options(ReplayOptions, options, "a study of sampling")
    about: list[str] = []
    if of_facts and (run is not None or reference is not None):
        which = "run" if reference is None else "reference"
        raise ArgumentError(
            next(iter(of_facts)), f"is about made-up facts; with `{which}`, they are those of the {which}."
        )
    if reference is not None:
        if run is not None:
            raise ArgumentError("reference", "is told beside a run; one of the two is expected.")
        if reference != DEMO:
            raise ArgumentError("reference", f"is {reference!r}; {DEMO!r} is expected.")
        references = [demo_reference([seed, repetition]) for repetition in range(how.repetitions)]
        origin = "the example graph, demo"
        about = [ABOUT_DEMO]
        its: dict[str, Any] = {"reference": reference}
    elif run is None:
        wanted, origin = _made_up(of_facts), "made-up facts"
        references = [synthetic(wanted, [seed, repetition]) for repetition in range(how.repetitions)]
        its = asdict(wanted)
    else:
        if graph is None:
            raise ArgumentError("graph", "is missing: the run is in one.")
        answered = reference_of_run(graph, run)
        references, origin = [answered.reference] * how.repetitions, f"{run}, {answered.run['model']}"
        about = about_run(answered)
        its = {"run": run, "uid": answered.run["uid"], "round": answered.run["round"]}
    count = len(references[0].theta)
    requests = 8 * count if how.requests is None else how.requests
    checkpoints = checkpoint_rounds(count, requests, how.facts_per_round)
    # Replays take minutes; where their result cannot be kept, that is told before.
    make_folder(home() / "studies")
    standings = replay_all(
        references,
        seed,
        checkpoints=checkpoints,
        batch=how.facts_per_round,
        hardest=how.hardest,
        max_degree=how.max_degree,
        on_replay=_told(callbacks, count, how.repetitions * len(SAMPLING_STRATEGIES)),
    )
    shown = [checkpoints.index(number) for number in shown_rounds(count, checkpoints[-1], how.facts_per_round)]
    config = {**asdict(how), "requests": requests, "seed": seed, **its}
    replays = Replays.of(standings, shown)
    return kept(sampling_study(replays, references, origin, config, hardest=how.hardest, about=about))


def _made_up(given: Mapping[str, Any]) -> Synthetic:
    options = make_options(SyntheticOptions, given, "a study of sampling")
    return Synthetic(options.size, options.hard, options.spread, options.likeness, options.distribution)


def _told(callbacks: Callbacks, facts: int, replays: int) -> Callable[[], None]:
    """What is done after each replay."""
    done = 0
    callbacks.on_start(Start(facts, 0, replays))

    def on_replay() -> None:
        nonlocal done
        done += 1
        callbacks.on_batch(Batch((), done))
        if done < replays and callbacks.should_stop():
            raise KgprobeError(f"Stopped after {done:,} of {replays:,} replays; nothing is kept.")

    return on_replay
