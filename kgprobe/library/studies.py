"""``kgprobe.study_…``: the papers' analyses that measure facts with distractors.

Those that set several measures side by side are in :mod:`.measure_studies`, the one of sampling in
:mod:`.sampling_study`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from kgprobe.asking.watch import NOBODY, Watch
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.intervals import as_of_day
from kgprobe.library.measuring import Measurement, measure
from kgprobe.library.study_result import StudyResult, kept
from kgprobe.models.model import Model, Models, load_model
from kgprobe.probes.distractors.curves import Measured, measured
from kgprobe.sampling.selection import Selection, list_facts
from kgprobe.search.strategies import STRATEGIES
from kgprobe.studies.counts import counts_study
from kgprobe.studies.sentences import sentences_study
from kgprobe.studies.sizes import measured_models, sizes_study
from kgprobe.studies.strategies import strategies_study

if TYPE_CHECKING:
    from kgprobe.sampling.selection import Listed


def study_strategies(
    graph: Graph,
    model: Model | str,
    *,
    strategies: Sequence[str] | None = None,
    sample: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    distractors: int = 100,
    sentences: int | None = 1,
    weighting: str = "tf-idf",
    max_prefixes: int = 2_000,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    watch: Watch = NOBODY,
) -> StudyResult:
    """Which strategy retrieves the hardest distractors: mean Min@n for n up to ``distractors``.

    >>> result = kgprobe.study_strategies(
    ...     graph, "demo", strategies=["random", "semantic"], relations=["P36"], sample=4, distractors=3
    ... )
    >>> result.frame()[["strategy", "n"]].tail(1).values.tolist()
    [['semantic', 3]]

    Cost: a measurement for each strategy. What is asked is kept: the same call goes on with what an interrupted one
    began.

    Args:
        model: see :func:`kgprobe.load_model`; its spec will do.
        strategies: by name; None compares all.
        sample, facts, relations, seed, as_of, models: as in :func:`kgprobe.measure`.
        distractors: the greatest n.
        sentences: how many cloze sentences of the relation are asked, drawn at random; None asks all of them.
        weighting, max_prefixes: options of strategies, see
            :class:`~kgprobe.probes.distractors.DistractorOptions`.
        watch: told, and asked, as each strategy's measurement goes.

    Raises:
        UnknownNameError: there is no such model or relation.
        ArgumentError: a value cannot be.
        KgprobeError: no fact could be asked with all strategies, or the watch ended it.
    """
    names = list(dict.fromkeys(STRATEGIES.names() if strategies is None else strategies))
    if not names:
        raise ArgumentError("strategies", f"is empty; there are: {', '.join(STRATEGIES.names())}.")
    opened = models or Models()
    asked = opened.open(model) if isinstance(model, str) else model
    listed = _listed(graph, facts, as_of)
    made = {
        name: _measured(
            graph,
            asked,
            watch,
            name,
            strategy=name,
            sample=sample,
            facts=listed and listed.keys,
            relations=relations,
            distractors=distractors,
            sentences=sentences,
            weighting=weighting,
            max_prefixes=max_prefixes,
            seed=seed,
            as_of=as_of,
            models=opened,
        )
        for name in names
    }
    by_name = {name: _curves(one) for name, one in made.items()}
    return kept(strategies_study(by_name, asked.name, _config(made, seed), seed), listed.missing if listed else ())


def study_distractors(
    graph: Graph,
    model: Model | str,
    *,
    sample: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    distractors: int = 200,
    sentences: int | None = None,
    strategy: str = "random",
    weighting: str = "tf-idf",
    max_prefixes: int = 2_000,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    watch: Watch = NOBODY,
) -> StudyResult:
    """How many distractors are enough: means by their number, and whether the order of the facts has settled.

    >>> result = kgprobe.study_distractors(graph, "demo", relations=["P36"], sample=6, distractors=3, sentences=1)
    >>> result.frame()["chance"].round(2).tolist()
    [0.5, 0.33, 0.25]

    Cost: one measurement, kept as in :func:`study_strategies`.

    Args:
        strategy: which distractors, by name.

    Other arguments and errors as in :func:`study_strategies`.
    """
    made = _measured(
        graph,
        model,
        watch,
        sample=sample,
        facts=facts,
        relations=relations,
        distractors=distractors,
        sentences=sentences,
        strategy=strategy,
        weighting=weighting,
        max_prefixes=max_prefixes,
        seed=seed,
        as_of=as_of,
        models=models,
    )
    config = {"measurement": str(made.folder), "seed": seed}
    return kept(counts_study(_curves(made), made.model, config, seed), made.missing)


def study_sentences(
    graph: Graph,
    model: Model | str,
    *,
    sample: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    distractors: int = 20,
    sentences: int | None = None,
    strategy: str = "random",
    weighting: str = "tf-idf",
    max_prefixes: int = 2_000,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    watch: Watch = NOBODY,
) -> StudyResult:
    """How many cloze sentences are enough: the measure over random subsets of each fact's sentences.

    >>> result = kgprobe.study_sentences(graph, "demo", relations=["P36"], sample=6, distractors=3)
    >>> int(result.frame()["sentences"].min())
    1

    Cost: one measurement, kept as in :func:`study_strategies`.

    Args:
        distractors: n, of Min@n and Avg@n.
        sentences: from how many sentences of a relation subsets are drawn; None takes all of them.
        strategy: which distractors, by name.

    Other arguments and errors as in :func:`study_strategies`.
    """
    made = _measured(
        graph,
        model,
        watch,
        sample=sample,
        facts=facts,
        relations=relations,
        distractors=distractors,
        sentences=sentences,
        strategy=strategy,
        weighting=weighting,
        max_prefixes=max_prefixes,
        seed=seed,
        as_of=as_of,
        models=models,
    )
    config = {"measurement": str(made.folder), "seed": seed}
    return kept(sentences_study(made.outcomes, distractors, made.model, config, seed), made.missing)


def study_sizes(
    graph: Graph,
    models: Sequence[Model | str],
    *,
    sample: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    distractors: int = 20,
    sentences: int | None = None,
    strategy: str = "random",
    weighting: str = "tf-idf",
    max_prefixes: int = 2_000,
    seed: int = 0,
    as_of: int | str | date | None = None,
    open_model: Callable[[str], Model] = load_model,
    watch: Watch = NOBODY,
) -> StudyResult:
    """Does a larger model know more: Avg@n of several models against their numbers of parameters.

    >>> pythia = [f"hf:EleutherAI/pythia-{size}" for size in ("70m", "160m", "410m")]
    >>> kgprobe.study_sizes(graph, pythia, sample=300)  # doctest: +SKIP

    Cost: a measurement for each model, kept as in :func:`study_strategies`. Memory: of models that are given by their
    specs, one at a time.

    Args:
        models: two at least, of different sizes; those of a spec are opened one after the other.
        distractors: n of Avg@n.
        strategy: which distractors, by name.
        open_model: opens a model by its spec.
        watch: told, and asked, as each model's measurement goes.

    Other arguments and errors as in :func:`study_strategies`.
    """
    different = list({_name(one): one for one in models}.values())
    if len(different) < 2:
        raise ArgumentError("models", f"are {len(different)}: a line through sizes needs two models at least.")
    listed = _listed(graph, facts, as_of)
    made = {
        _name(one): _measured(
            graph,
            open_model(one) if isinstance(one, str) else one,
            watch,
            _name(one),
            sample=sample,
            facts=listed and listed.keys,
            relations=relations,
            distractors=distractors,
            sentences=sentences,
            strategy=strategy,
            weighting=weighting,
            max_prefixes=max_prefixes,
            seed=seed,
            as_of=as_of,
        )
        for one in different
    }
    parameters = {name: one.config["described"]["scorer"]["parameters"] for name, one in made.items()}
    sized, common = measured_models({name: (parameters[name], _curves(one)) for name, one in made.items()}, seed)
    return kept(sizes_study(sized, common, distractors, _config(made, seed)), listed.missing if listed else ())


def _measured(graph: Graph, model: Model | str, watch: Watch, title: str = "", **arguments: Any) -> Measurement:
    """A measurement with distractors that is done.

    Args:
        title: what it is called among others of one study.
    """
    titled = replace(watch, on_start=lambda start: watch.on_start(replace(start, title=title)))
    made = measure(graph, model, "distractors", watch=titled, **arguments)
    if not made.complete:
        raise KgprobeError(f"Stopped after {made.asked.done:,} of {made.asked.facts:,} facts; the same call goes on.")
    return made


def _curves(made: Measurement) -> Measured:
    return measured(made.outcomes, made.config["described"]["distractors"])


def _config(made: dict[str, Measurement], seed: int) -> dict[str, Any]:
    return {"measurements": {name: str(one.folder) for name, one in made.items()}, "seed": seed}


def _listed(graph: Graph, facts: "Listed | None", as_of: int | str | date | None) -> Selection | None:
    """The facts of a list, which may be a file that can be read only once; None where there is no list."""
    return None if facts is None else list_facts(graph, facts, as_of_day(as_of))


def _name(model: Model | str) -> str:
    return model if isinstance(model, str) else model.name
