"""``kgprobe.study_sampling``: compare sampling rules and learners in replays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from kgprobe.api.options import ReplayOptions, SyntheticOptions
from kgprobe.arguments import whole_number
from kgprobe.beliefs.reference import Reference, Synthetic, synthetic
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
    """Compare how much sampling rules learn from the same number of questions, in replays; no model is loaded.

    Thompson and uniform sampling, each with and without propagation, sequential sampling, and the rules of the
    hierarchical learner are replayed on facts with known θ: of a run, of the example graph for the demo model, or
    synthetic ones, drawn for each repetition.

    >>> result = kgprobe.study_sampling(size=60, requests=240, facts_per_round=10, repetitions=2, hardest=5)
    >>> sorted(set(result.to_frame()["strategy"]))[:2]
    ['hardest + hierarchical', 'information + hierarchical']

    Cost: nine strategies times repetitions, each a pass over the facts for each round.

    Args:
        graph: graph of the run; synthetic facts need none.
        run: run that gives the true θ, as the share of wrong answers of each fact. Best made with
            ``sampling="sequential"``, with 20 answers for each fact. None draws synthetic facts.
        reference: ``"demo"``, which comes with kgprobe: 2,554 facts, 8 answers each.
        seed: random seed.
        callbacks: progress and interruption, after each replay.
        options: of :class:`~kgprobe.api.options.ReplayOptions`; without a run or a reference, also those of
            :class:`~kgprobe.api.options.SyntheticOptions`.

    Raises:
        UnknownNameError: no such run.
        ArgumentError: no such option, a value is out of range, or options of synthetic facts next to a run.
        KgprobeError: the run has too few answers, or a callback stopped the study.
    """
    synthetic_options = {
        name: options.pop(name) for name in [field.name for field in fields(SyntheticOptions)] if name in options
    }
    seed = whole_number("seed", seed, 0)
    chosen = make_options(ReplayOptions, options, "a study of sampling")
    _check_origin(synthetic_options, run, reference)
    seeds = [[seed, repetition] for repetition in range(chosen.repetitions)]
    if reference is not None:
        truth = _of_demo(reference, seeds)
    elif run is None:
        truth = _of_synthetic_facts(synthetic_options, seeds)
    else:
        truth = _of_run(graph, run, chosen.repetitions)
    references = truth.references
    count = len(references[0].theta)
    requests = 8 * count if chosen.requests is None else chosen.requests
    checkpoints = checkpoint_rounds(count, requests, chosen.facts_per_round)
    # Replays take minutes: find out before them if the result can be stored.
    make_folder(home() / "studies")
    standings = replay_all(
        references,
        seed,
        checkpoints=checkpoints,
        batch=chosen.facts_per_round,
        hardest=chosen.hardest,
        max_degree=chosen.max_degree,
        on_replay=_after_replay(callbacks, count, chosen.repetitions * len(SAMPLING_STRATEGIES)),
    )
    shown = [checkpoints.index(number) for number in shown_rounds(count, checkpoints[-1], chosen.facts_per_round)]
    config = {**asdict(chosen), "requests": requests, "seed": seed, **truth.settings}
    replays = Replays.of(standings, shown)
    return kept(sampling_study(replays, references, truth.origin, config, hardest=chosen.hardest, about=truth.about))


@dataclass(frozen=True, slots=True)
class _Truth:
    """Facts with known θ.

    Attributes:
        references: the facts of each repetition.
        origin: origin of the facts, for titles.
        settings: settings of the origin.
        about: notes.
    """

    references: Sequence[Reference]
    origin: str
    settings: Mapping[str, Any]
    about: Sequence[str] = ()


def _check_origin(synthetic_options: Mapping[str, Any], run: str | None, reference: str | None) -> None:
    """Raise an error if there are options of synthetic facts next to a run or a reference, or both of these."""
    if synthetic_options and (run is not None or reference is not None):
        which = "run" if reference is None else "reference"
        raise ArgumentError(next(iter(synthetic_options)), f"is about synthetic facts; `{which}` has its own facts.")
    if run is not None and reference is not None:
        raise ArgumentError("reference", "and `run` exclude each other; give one of them.")


def _of_demo(reference: str, seeds: Sequence[list[int]]) -> _Truth:
    if reference != DEMO:
        raise ArgumentError("reference", f"is {reference!r}; expected {DEMO!r}.")
    references = [demo_reference(seed) for seed in seeds]
    return _Truth(references, "the example graph, demo", {"reference": reference}, [ABOUT_DEMO])


def _of_synthetic_facts(given: Mapping[str, Any], seeds: Sequence[list[int]]) -> _Truth:
    options = make_options(SyntheticOptions, given, "a study of sampling")
    described = Synthetic(options.size, options.hard, options.spread, options.likeness, options.distribution)
    return _Truth([synthetic(described, seed) for seed in seeds], "synthetic facts", asdict(described))


def _of_run(graph: Graph | None, run: str, repetitions: int) -> _Truth:
    if graph is None:
        raise ArgumentError("graph", "is missing: the run needs its graph.")
    answered = reference_of_run(graph, run)
    settings = {"run": run, "uid": answered.run["uid"], "round": answered.run["round"]}
    origin = f"{run}, {answered.run['model']}"
    return _Truth([answered.reference] * repetitions, origin, settings, about_run(answered))


def _after_replay(callbacks: Callbacks, facts: int, replays: int) -> Callable[[], None]:
    """Return the function that is called after each replay."""
    done = 0
    callbacks.on_start(Start(facts, 0, replays))

    def on_replay() -> None:
        nonlocal done
        done += 1
        callbacks.on_batch(Batch((), done))
        if done < replays and callbacks.should_stop():
            raise KgprobeError(f"Stopped after {done:,} of {replays:,} replays; nothing is stored.")

    return on_replay
