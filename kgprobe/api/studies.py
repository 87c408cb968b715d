"""``kgprobe.study_…``: the papers' analyses that measure facts with distractors.

Those that set several measures side by side are in :mod:`.measure_studies`, the one of sampling in
:mod:`.sampling_study`.
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
    """Which strategy retrieves the hardest distractors: mean Min@n for n up to ``distractors`` (100), in one sentence.

    >>> result = kgprobe.study_strategies(
    ...     graph, "demo", strategies=["random", "semantic"], relations=["P36"], limit=4, distractors=3
    ... )
    >>> result.to_frame()[["strategy", "n"]].tail(1).values.tolist()
    [['semantic', 3]]

    Cost: a measurement for each strategy. What is asked is kept: the same call goes on with what an interrupted one
    began.

    Args:
        model: see :func:`kgprobe.load_model`; its spec will do.
        strategies: by name; None compares all.
        seed, models: as in :func:`kgprobe.measure`.
        watch: told, and asked, as each strategy's measurement goes.
        measuring: see :class:`~kgprobe.api.options.Measuring`.

    Raises:
        UnknownNameError: there is no such model or relation.
        ArgumentError: there is no such argument, or a value cannot be.
        KgprobeError: no fact could be asked with all strategies, or the watch ended it.
    """
    names = list(dict.fromkeys(STRATEGIES.names() if strategies is None else several("strategies", strategies)))
    if not names:
        raise ArgumentError("strategies", f"is empty; there are: {', '.join(STRATEGIES.names())}.")
    if "strategy" in measuring:
        raise ArgumentError("strategy", "is not one of this study's: it compares several, `strategies`.")
    opened = models or Models()
    asked = opened.open(model)
    measuring, missing = _listed(graph, measuring)
    given = STRATEGIES_DEFAULTS | measuring
    made = {
        name: _measured(graph, asked, callbacks, name, strategy=name, seed=seed, models=opened, **given)
        for name in names
    }
    by_name = {name: _curves(one) for name, one in made.items()}
    return kept(strategies_study(by_name, asked.name, _config(made, seed), seed), missing)


def study_distractor_count(
    graph: Graph,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> StudyResult:
    """How many distractors are enough: means by their number (up to 200), and whether the order of facts has settled.

    >>> result = kgprobe.study_distractor_count(graph, "demo", relations=["P36"], limit=6, distractors=3, sentences=1)
    >>> result.to_frame()["chance"].round(2).tolist()
    [0.5, 0.33, 0.25]

    Cost: one measurement, kept as in :func:`study_strategies`. Arguments and errors as there.
    """
    given = DISTRACTOR_COUNT_DEFAULTS | measuring
    made = _measured(graph, model, callbacks, seed=seed, models=models, **given)
    config = {"measurement": str(made.folder), "seed": seed}
    return kept(counts_study(_curves(made), made.model, config, seed), made.missing)


def study_sentences(
    graph: Graph,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> StudyResult:
    """How many cloze sentences are enough: Min@n and Avg@n (n is 20) over random subsets of each fact's sentences.

    >>> result = kgprobe.study_sentences(graph, "demo", relations=["P36"], limit=6, distractors=3)
    >>> int(result.to_frame()["sentences"].min())
    1

    Cost: one measurement, kept as in :func:`study_strategies`. Arguments and errors as there; ``sentences`` says from
    how many of a relation's subsets are drawn.
    """
    given = SENTENCES_DEFAULTS | measuring
    made = _measured(graph, model, callbacks, seed=seed, models=models, **given)
    config = {"measurement": str(made.folder), "seed": seed}
    distractors = made.config["options"]["distractors"]
    return kept(sentences_study(made.outcomes, distractors, made.model, config, seed), made.missing)


def study_scaling(
    graph: Graph,
    models: Sequence[Model | str],
    *,
    seed: int = 0,
    open_model: Callable[[str], Model] = load_model,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> StudyResult:
    """Does a larger model know more: Avg@n (n is 20) of several models against their numbers of parameters.

    >>> pythia = [f"hf:EleutherAI/pythia-{size}" for size in ("70m", "160m", "410m")]
    >>> kgprobe.study_scaling(graph, pythia, limit=300)  # doctest: +SKIP

    Cost: a measurement for each model, kept as in :func:`study_strategies`. Memory: of models that are given by their
    specs, one at a time.

    Args:
        models: two at least, of different sizes; those of a spec are opened one after the other.
        open_model: opens a model by its spec.
        watch: told, and asked, as each model's measurement goes.

    Other arguments and errors as in :func:`study_strategies`.
    """
    different = list({_name(one): one for one in models}.values())
    if len(different) < 2:
        raise ArgumentError("models", f"names {len(different)}: to compare sizes, two models are needed.")
    measuring, missing = _listed(graph, measuring)
    given = SCALING_DEFAULTS | measuring
    # No name is given to a model that is opened, so that it goes before the next one comes.
    made = {
        _name(one): _measured(
            graph, open_model(one) if isinstance(one, str) else one, callbacks, _name(one), seed=seed, **given
        )
        for one in different
    }
    parameters = {name: one.config["described"]["scorer"]["parameters"] for name, one in made.items()}
    sized, common = measured_models({name: (parameters[name], _curves(one)) for name, one in made.items()}, seed)
    distractors = next(iter(made.values())).config["options"]["distractors"]
    return kept(sizes_study(sized, common, distractors, _config(made, seed)), missing)


def _measured(graph: Graph, model: Model | str, callbacks: Callbacks, title: str = "", **arguments: Any) -> Measurement:
    """A measurement with distractors that is done.

    Args:
        title: what it is called among others of one study.
    """
    titled = replace(callbacks, on_start=lambda start: callbacks.on_start(replace(start, title=title)))
    made = measure(graph, model, "distractors", callbacks=titled, **arguments)
    if not made.complete:
        raise KgprobeError(f"Stopped after {made.asked.done:,} of {made.asked.facts:,} facts; the same call goes on.")
    return made


def _curves(made: Measurement) -> Measured:
    return measured(made.outcomes, made.config["described"]["distractors"])


def _config(made: dict[str, Measurement], seed: int) -> dict[str, Any]:
    return {"measurements": {name: str(one.folder) for name, one in made.items()}, "seed": seed}


def _listed(graph: Graph, measuring: Measuring) -> tuple[Measuring, Sequence[str]]:
    """The facts of a list by their keys, since it may be a file that can be read only once; and which are missing."""
    facts = measuring.get("facts")
    if facts is None:
        return measuring, ()
    listed = list_facts(graph, facts, as_of_day(measuring.get("as_of")))
    return measuring | {"facts": listed.keys}, listed.missing


def _name(model: Model | str) -> str:
    return model if isinstance(model, str) else model.name
