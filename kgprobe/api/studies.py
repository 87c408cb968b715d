"""``kgprobe.study_…``: the papers' analyses that measure facts with distractors.

Studies of several measures are in :mod:`.measure_studies`, that of sampling in :mod:`.sampling_study`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kgprobe.api.measuring import measure
from kgprobe.api.options import (
    DISTRACTOR_COUNT_DEFAULTS,
    SCALING_DEFAULTS,
    SENTENCES_DEFAULTS,
    STRATEGIES_DEFAULTS,
    Measuring,
)
from kgprobe.arguments import several
from kgprobe.dates import as_of_day
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model, Models, load_model
from kgprobe.probes.distractors.curves import Measured, measured
from kgprobe.results.measurement import Measurement
from kgprobe.results.study import StudyResult, kept
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.sampling.selection import list_facts
from kgprobe.search.strategies import STRATEGIES
from kgprobe.studies.counts import counts_study
from kgprobe.studies.sentences import sentences_study
from kgprobe.studies.sizes import measured_models, sizes_study
from kgprobe.studies.strategies import strategies_study

if TYPE_CHECKING:
    from typing_extensions import Unpack


def study_strategies(
    graph: Graph,
    model: Model | str,
    *,
    strategies: Sequence[str] | None = None,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> StudyResult:
    """Compare strategies by their hardest distractors: mean Min@n for n up to ``distractors`` (100), in one sentence.

    >>> result = kgprobe.study_strategies(
    ...     graph, "demo", strategies=["random", "semantic"], relations=["P36"], limit=4, distractors=3
    ... )
    >>> result.to_frame()[["strategy", "n"]].tail(1).values.tolist()
    [['semantic', 3]]

    Cost: one measurement for each strategy. Answers are stored: the same call resumes an interrupted one.

    Args:
        model: model or spec; see :func:`kgprobe.load_model`.
        strategies: names of strategies; None compares all.
        seed, models: as in :func:`kgprobe.measure`.
        callbacks: progress and interruption of each measurement.
        measuring: see :class:`~kgprobe.api.options.Measuring`.

    Raises:
        UnknownNameError: no such model or relation.
        ArgumentError: no such argument, or a value is out of range.
        KgprobeError: no fact could be asked with all strategies, or a callback stopped the study.
    """
    names = list(dict.fromkeys(STRATEGIES.names() if strategies is None else several("strategies", strategies)))
    if not names:
        raise ArgumentError("strategies", f"is empty; choose from {', '.join(STRATEGIES.names())}.")
    if "strategy" in measuring:
        raise ArgumentError("strategy", "is not an option of this study, which compares several: use `strategies`.")
    opened = models or Models()
    opened_model = opened.open(model)
    measuring, missing = _listed(graph, measuring)
    given = STRATEGIES_DEFAULTS | measuring
    measurements = {
        name: _measured(graph, opened_model, callbacks, name, strategy=name, seed=seed, models=opened, **given)
        for name in names
    }
    by_name = {name: _curves(measurement) for name, measurement in measurements.items()}
    return kept(strategies_study(by_name, opened_model.name, _config(measurements, seed), seed), missing)


def study_distractor_count(
    graph: Graph,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> StudyResult:
    """Study the number of distractors: means for up to 200, and the stability of the ranking of facts.

    >>> result = kgprobe.study_distractor_count(graph, "demo", relations=["P36"], limit=6, distractors=3, sentences=1)
    >>> result.to_frame()["chance"].round(2).tolist()
    [0.5, 0.33, 0.25]

    Cost: one measurement, stored as in :func:`study_strategies`. Arguments and errors as there.
    """
    given = DISTRACTOR_COUNT_DEFAULTS | measuring
    measurement = _measured(graph, model, callbacks, seed=seed, models=models, **given)
    config = {"measurement": str(measurement.folder), "seed": seed}
    return kept(counts_study(_curves(measurement), measurement.model, config, seed), measurement.missing)


def study_sentences(
    graph: Graph,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> StudyResult:
    """Study the number of cloze sentences: Min@20 and Avg@20 over random subsets of each fact's sentences.

    >>> result = kgprobe.study_sentences(graph, "demo", relations=["P36"], limit=6, distractors=3)
    >>> int(result.to_frame()["sentences"].min())
    1

    Cost: one measurement, stored as in :func:`study_strategies`. Arguments and errors as there; subsets are drawn from
    ``sentences`` sentences of a relation.
    """
    given = SENTENCES_DEFAULTS | measuring
    measurement = _measured(graph, model, callbacks, seed=seed, models=models, **given)
    config = {"measurement": str(measurement.folder), "seed": seed}
    distractors = measurement.config["options"]["distractors"]
    return kept(
        sentences_study(measurement.outcomes, distractors, measurement.model, config, seed), measurement.missing
    )


def study_scaling(
    graph: Graph,
    models: Sequence[Model | str],
    *,
    seed: int = 0,
    open_model: Callable[[str], Model] = load_model,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> StudyResult:
    """Study scaling: Avg@20 of several models by their numbers of parameters.

    >>> pythia = [f"hf:EleutherAI/pythia-{size}" for size in ("70m", "160m", "410m")]
    >>> kgprobe.study_scaling(graph, pythia, limit=300)  # doctest: +SKIP

    Cost: one measurement for each model, stored as in :func:`study_strategies`. Memory: models given by specs are open
    one at a time.

    Args:
        models: at least two models or specs, of different sizes.
        open_model: function that opens a model by its spec.
        callbacks: progress and interruption of each measurement.

    Other arguments and errors as in :func:`study_strategies`.
    """
    different = list({_name(model): model for model in models}.values())
    if len(different) < 2:
        raise ArgumentError("models", f"has {len(different)}; expected at least two, to compare sizes.")
    measuring, missing = _listed(graph, measuring)
    given = SCALING_DEFAULTS | measuring
    # No variable refers to an open model, so that it is freed before the next one is loaded.
    measurements = {
        _name(model): _measured(
            graph, open_model(model) if isinstance(model, str) else model, callbacks, _name(model), seed=seed, **given
        )
        for model in different
    }
    parameters = {name: model.config["described"]["scorer"]["parameters"] for name, model in measurements.items()}
    sized, common = measured_models(
        {name: (parameters[name], _curves(model)) for name, model in measurements.items()}, seed
    )
    distractors = next(iter(measurements.values())).config["options"]["distractors"]
    return kept(sizes_study(sized, common, distractors, _config(measurements, seed)), missing)


def _measured(graph: Graph, model: Model | str, callbacks: Callbacks, title: str = "", **arguments: Any) -> Measurement:
    """Measure with distractors, to the end.

    Args:
        title: title of the measurement within the study.
    """
    titled = replace(callbacks, on_start=lambda start: callbacks.on_start(replace(start, title=title)))
    measurement = measure(graph, model, "distractors", callbacks=titled, **arguments)
    if not measurement.complete:
        progress = measurement.progress
        raise KgprobeError(f"Stopped after {progress.done:,} of {progress.facts:,} facts; repeat the call to resume.")
    return measurement


def _curves(measurement: Measurement) -> Measured:
    return measured(measurement.outcomes, measurement.config["described"]["distractors"])


def _config(measurements: dict[str, Measurement], seed: int) -> dict[str, Any]:
    return {"measurements": {name: str(measurement.folder) for name, measurement in measurements.items()}, "seed": seed}


def _listed(graph: Graph, measuring: Measuring) -> tuple[Measuring, Sequence[str]]:
    """Return listed facts by key (a file may be readable only once), and messages about missing ones."""
    facts = measuring.get("facts")
    if facts is None:
        return measuring, ()
    listed = list_facts(graph, facts, as_of_day(measuring.get("as_of")))
    return measuring | {"facts": listed.keys}, listed.missing


def _name(model: Model | str) -> str:
    return model if isinstance(model, str) else model.name
