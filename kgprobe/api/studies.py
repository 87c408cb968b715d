"""``kgprobe.study_…``: the papers' analyses. :mod:`kgprobe.papers.studies.options` has their options."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.api.datasets import dataset_files, probe_dataset
from kgprobe.base.arguments import several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import home, make_folder
from kgprobe.base.options import documented, make_options, options_of
from kgprobe.base.sanitize import counted
from kgprobe.datasets.asking import dataset_relations
from kgprobe.datasets.folder import cloze_templates
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids, relation_names, unique_names
from kgprobe.graph.state import graph_state
from kgprobe.models.model import Model, Models, load_model
from kgprobe.papers.baselines.human_data import find_scored, read_human_scores, read_pairs
from kgprobe.papers.baselines.measures import open_measures
from kgprobe.papers.baselines.options import MeasuresOptions
from kgprobe.papers.studies.agreement import (
    CalibrationStudy,
    Compared,
    RobustnessStudy,
    calibration_study,
    read_calibration,
    robustness_study,
)
from kgprobe.papers.studies.distractors import (
    DistractorCountStudy,
    ScalingStudy,
    SentencesStudy,
    StrategiesStudy,
    counts_study,
    sentences_study,
    sizes_study,
    strategies_study,
)
from kgprobe.papers.studies.examples import (
    ExamplesStudy,
    PromptingStudy,
    example_counts_study,
    kinds_of_sentences,
    prompt_formats,
    prompting_study,
)
from kgprobe.papers.studies.noisy_examples import NoisyExamplesStudy, noisy_examples_study
from kgprobe.papers.studies.options import (
    CalibrationOptions,
    ExampleCountsOptions,
    Measuring,
    NoisyExamplesOptions,
    PromptingOptions,
    ReplayOptions,
    RobustnessOptions,
    TemplatesOptions,
    VerbalizationsOptions,
)
from kgprobe.papers.studies.sampling import SamplingStudy, sampling_study
from kgprobe.papers.studies.study import folders_of, same_facts
from kgprobe.papers.studies.templates import QUESTIONS, SENTENCES, TemplatesStudy, templates_study
from kgprobe.papers.studies.verbalizations import Annotations, VerbalizationsStudy, annotations_of, verbalizations_study
from kgprobe.probes.clozes import ClozeItems, few_sentences_note
from kgprobe.probes.distractors.evidence import Measured, measured
from kgprobe.probes.search.strategies import STRATEGIES
from kgprobe.results.measurement import Measurement, measure_to_the_end, to_the_end
from kgprobe.running.plan import Asking
from kgprobe.running.replays import demo_truth, run_truth
from kgprobe.sampling.drawing import Draw
from kgprobe.sampling.selection import list_existing
from kgprobe.verbalize.askable_relations import askable_relations
from kgprobe.verbalize.corrections import damaged_notes, read_verbalizations
from kgprobe.verbalize.templates.kinds import CLOZES, GENERIC

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
) -> StrategiesStudy:
    """Compare strategies by their hardest distractors: mean Min@n for n up to ``distractors``.

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
        measuring: see :class:`~kgprobe.papers.studies.options.Measuring`.

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
    opened_model = opened.open_asked(model)
    listed, missing = _listed(graph, measuring)
    measurements = {}
    for name in names:
        measurements[name] = measure_to_the_end(
            graph, opened_model, "distractors", callbacks, name, strategy=name, seed=seed, models=opened, **listed
        )
    by_name = {name: _curves(measurement) for name, measurement in measurements.items()}
    study = strategies_study(by_name, opened_model.name, folders_of(measurements, seed), seed)
    return study.save([*missing, *measurements[names[0]].notes])


def study_distractor_count(
    graph: Graph,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> DistractorCountStudy:
    """Study the number of distractors: means for n up to ``distractors``, and the stability of the ranking of facts.

    >>> result = kgprobe.study_distractor_count(graph, "demo", relations=["P36"], limit=6, distractors=3, sentences=1)
    >>> result.to_frame()["chance"].round(2).tolist()
    [0.5, 0.33, 0.25]

    Set ``distractors`` to the largest number; the paper's is 200.

    Cost: one measurement, stored as in :func:`study_strategies`. Arguments and errors as there.
    """
    measurement = measure_to_the_end(graph, model, "distractors", callbacks, seed=seed, models=models, **measuring)
    config = {"measurement": str(measurement.folder), "seed": seed}
    return counts_study(_curves(measurement), measurement.model, config, seed).save(
        [*measurement.missing, *measurement.notes]
    )


def study_sentences(
    graph: Graph,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> SentencesStudy:
    """Study the number of cloze sentences: Min@n and Avg@n over random subsets of each fact's sentences.

    >>> result = kgprobe.study_sentences(graph, "demo", relations=["P36"], limit=6, distractors=3)
    >>> int(result.to_frame()["sentences"].min())
    1

    Cost: one measurement, stored as in :func:`study_strategies`. Arguments and errors as there; subsets are drawn from
    ``sentences`` sentences of a relation.
    """
    measurement = measure_to_the_end(graph, model, "distractors", callbacks, seed=seed, models=models, **measuring)
    config = {"measurement": str(measurement.folder), "seed": seed}
    distractors = measurement.config["options"]["distractors"]
    study = sentences_study(measurement.outcomes, distractors, measurement.model, config, seed)
    return study.save([*measurement.missing, *measurement.notes])


def study_scaling(
    graph: Graph,
    models: Sequence[Model | str],
    *,
    seed: int = 0,
    open_model: Callable[[str], Model] = load_model,
    callbacks: Callbacks = NO_CALLBACKS,
    **measuring: "Unpack[Measuring]",
) -> ScalingStudy:
    """Study scaling: Avg@n of several models by their numbers of parameters.

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
    different = {model if isinstance(model, str) else model.name: model for model in models}
    if len(different) < 2:
        raise ArgumentError("models", f"has {len(different)}; expected at least two, to compare sizes.")
    listed, missing = _listed(graph, measuring)
    measurements = {}
    parameters = {}
    by_name = {}
    for name, model in different.items():
        # No variable refers to an opened model, so that it is freed before the next one is loaded.
        measurement = measure_to_the_end(
            graph,
            open_model(model) if isinstance(model, str) else model,
            "distractors",
            callbacks,
            name,
            seed=seed,
            **listed,
        )
        measurements[name], by_name[name] = measurement, _curves(measurement)
        parameters[name] = measurement.config["described"]["scorer"]["parameters"]
    distractors = measurement.config["options"]["distractors"]
    study = sizes_study(by_name, parameters, distractors, folders_of(measurements, seed), seed)
    return study.save([*missing, *measurement.notes])


@documented(ExampleCountsOptions, Draw, parameters=[Asking])
def study_examples(
    graph: Graph,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: "Unpack[Measuring]",
) -> ExamplesStudy:
    """Study the number of few-shot examples: accuracy by number, and the least that reaches 95% of the maximum's.

    >>> result = kgprobe.study_examples(
    ...     graph, "demo", relations=["P36"], limit=4, counts=[1, 2], repeats=2, choices=3
    ... )
    >>> result.to_frame()[["examples", "seed"]].values.tolist()
    [[1, 0], [1, 1], [2, 0], [2, 1]]

    Cost: one measurement for each number and draw. Answers are stored: the same call resumes an interrupted one.

    Args:
        model: model or spec; see :func:`kgprobe.load_model`.
        seed: random seed of facts and choices; the draws of examples use the seeds from it on.

    Raises:
        UnknownNameError: no such model or relation.
        ArgumentError: no such option, or a value is out of range.
        KgprobeError: no fact has that many examples, or a callback stopped the study.
    """
    chosen = make_options(ExampleCountsOptions, _without_drawing(options), "a study of examples")
    counts = sorted(set(chosen.counts))
    if not counts:
        raise ArgumentError("counts", "is empty; expected at least one number of examples.")
    measure_with, seed, missing = _examples_of(graph, model, (), callbacks, options, seed, models)
    measurements = {}
    draws = {}
    for examples_seed in range(seed, seed + chosen.repeats):
        for count in counts:
            title = f"{count} examples, draw {examples_seed}"
            measurement = measure_with(title, examples=count, examples_seed=examples_seed, choices=chosen.choices)
            measurements[title], draws[count, examples_seed] = measurement, measurement.answers
    config = folders_of(measurements, seed) | asdict(chosen)
    return example_counts_study(draws, measurement.model, config, seed).save(missing)


@documented(PromptingOptions, Draw, parameters=[Asking])
def study_prompting(
    graph: Graph | None,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: "Unpack[Measuring]",
) -> PromptingStudy:
    """Compare prompt formats: few-shot examples with other separators, packed, in sentences; and sentences alone.

    >>> result = kgprobe.study_prompting(
    ...     graph, "demo", relations=["P36"], limit=4, examples=2, choices=3, separators=[]
    ... )
    >>> list(dict.fromkeys(result.to_frame()["way"]))
    ['examples', 'examples, a line each', 'packed', 'examples in sentences', 'sentences']

    Cost: one measurement for each format, stored as in :func:`study_examples`.

    Args:
        graph: None with ``dataset``.
        model: model or spec. Relations without a cloze template are left out.

    Errors as in :func:`study_examples`.
    """
    chosen = make_options(PromptingOptions, _without_drawing(options), "a study of prompting")
    formats = prompt_formats(chosen)
    kinds = kinds_of_sentences(formats)
    common: dict[str, Any] = {"examples": chosen.examples}
    if chosen.dataset is not None:
        measure_with, names, missing = _examples_of_dataset(
            chosen.dataset, chosen.sentences, kinds, model, callbacks, options, seed, models
        )
    elif graph is None:
        raise ArgumentError("graph", "is None; expected a graph, or a data set: `dataset`.")
    else:
        common["choices"] = chosen.choices
        relations = relation_ids(graph, several("relations", options.get("relations", ())))
        only_generic = kinds == [GENERIC]
        rows = askable_relations(graph, [CLOZES[kind] for kind in kinds], relations, only_generic=only_generic)
        counts = {relation: [len(row[CLOZES[kind]]) for kind in kinds] for relation, row in rows.items()}
        written, left_out = _with_sentences(counts, kinds, chosen.sentences, relation_names(graph, counts))
        names = relation_names(graph, written)
        drawn = options | {"relations": written}
        measure_with, seed, missing = _examples_of(graph, model, (), callbacks, drawn, seed, models)
        missing = [*missing, *left_out]
    measurements = {}
    for title, given in formats.items():
        measurement = measurements[title] = measure_with(title, **common, **given)
    answers = {title: measurement.answers for title, measurement in measurements.items()}
    dataset = None if chosen.dataset is None else str(chosen.dataset)
    config = folders_of(measurements, seed) | asdict(chosen) | {"dataset": dataset}
    return prompting_study(answers, names, measurement.model, config).save(missing)


@documented(TemplatesOptions, Draw, parameters=[Asking])
def study_templates(
    graph: Graph,
    model: Model | str,
    *,
    seed: int = 0,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: "Unpack[Measuring]",
) -> TemplatesStudy:
    """Compare generic templates, made of labels, with hand-written ones on the same facts and distractors.

    >>> result = kgprobe.study_templates(graph, "demo", relations=["P36"], limit=4, probes=["distractors"])
    >>> result.to_frame()["templates"].unique().tolist()[-1]
    'generic sentence'

    Cost: two measurements for each probe, stored as in :func:`study_examples`.

    Args:
        model: model or spec. Relations without hand-written templates are left out.

    Errors as in :func:`study_examples`.
    """
    chosen = make_options(TemplatesOptions, _without_drawing(options), "a study of templates")
    probes = list(dict.fromkeys(chosen.probes))
    if not probes:
        raise ArgumentError("probes", "is empty; choose from distractors, questions.")
    opened = models or Models()
    probed = opened.open_asked(model)
    relations = _written_relations(graph, probes, options.get("relations", ()))
    common, missing = same_facts(graph, relations, options, seed, opened)
    # Kind of template, options, and the name of the option with the origin.
    settings: dict[str, tuple[str, Mapping[str, Any], str]] = {
        "distractors": (SENTENCES, {"distractors": chosen.distractors}, "templates"),
        "questions": (QUESTIONS, {}, "wording"),
    }
    measurements, by_kind = {}, {}
    for probe in probes:
        kind, given, origin_option = settings[probe]
        for origin in ("hand", "generic"):
            title = f"{kind}, {origin}"
            measurement = measure_to_the_end(
                graph, probed, probe, callbacks, title, **common, **given, **{origin_option: origin}
            )
            measurements[title] = by_kind[kind, origin] = measurement
    config = folders_of(measurements, common["seed"]) | asdict(chosen)
    return templates_study(by_kind, chosen.distractors, measurement.model, config).save(missing)


@documented(NoisyExamplesOptions, parameters=[Draw, Asking])
def study_noisy_examples(
    graph: Graph,
    model: Model | str,
    *,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> NoisyExamplesStudy:
    """Study noisy few-shot examples: effect of unknown and incorrect ones on the probability of later objects.

    >>> result = kgprobe.study_noisy_examples(graph, "demo", relations=["P36"], sequences=1, length=8, replaced=2)
    >>> int(result.to_frame()["replaced"].sum())
    8

    Cost: five passes over each sequence. Nothing is stored before the end.

    Args:
        model: model or spec. Relations without enough facts are left out.

    Errors as in :func:`study_examples`.
    """
    chosen = make_options(NoisyExamplesOptions, options, "a study of noise")
    if not chosen.replaced < chosen.length:
        raise ArgumentError("replaced", f"is {chosen.replaced}; expected fewer than `length`, {chosen.length}.")
    seed, day = whole_number("seed", seed, 0), as_of_day(as_of)
    askable = list(askable_relations(graph, ids=relation_ids(graph, several("relations", relations))))
    opened = (models or Models()).open_asked(model)
    opened.refresh()
    return noisy_examples_study(graph, opened, askable, chosen, seed, day, callbacks).save()


@documented(MeasuresOptions)
def study_robustness(
    graph: Graph,
    model: Model | str,
    table: str | Path,
    *,
    calibration: str | Path | None = None,
    context: str | None = None,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> RobustnessStudy:
    """Study robustness to flawed sentences: Kendall's τ of each measure between flawed and corrected verbalizations.

    >>> kgprobe.study_robustness(graph, "demo", "corrections.csv", measures=["probability", "karr"])  # doctest: +SKIP

    Cost: each measure twice over all sentences; measures of continuations, one beam search for each number of beams.
    Nothing is stored before the end.

    Args:
        table: CSV file with the columns triples_raw, triples, context, verbalization, errors and correction. Sentences
            without errors count as their own corrections, in a column of their own.
        calibration: folder of a calibration study of the same model (:func:`study_calibration`), or ``latest`` for the
            latest one of this model and graph: each measure is shown in the best configurations of its folds, with the
            calibration's number of distractors, form of KaRR, ``continuation``, ``several_tokens``, ``articles`` and
            ``former_order``; only the best numbers of beams are computed. None shows the largest configurations.
        context: ``present`` or ``past``: only sentences of this context; None uses all.
        as_of: date at which facts must be current; None is today.

    Other arguments as in :func:`study_examples`.

    Raises:
        UnknownNameError: no such model.
        ArgumentError: no such option, a value is out of range, or a measure lacks an encoder or a grader.
        KgprobeError: the table is unreadable, has no correction about a fact of the graph, or a callback stopped the
            study.
    """
    make_options(RobustnessOptions, {"context": context}, "a study of robustness")
    pairs = read_pairs(graph, Path(table), context)
    chosen = make_options(MeasuresOptions, options, "a study of measures")
    models = models or Models()
    model = models.open_asked(model)
    path = best = None
    if calibration is not None:
        path, calibrated = read_calibration(Path(calibration), model.name, graph_state(graph))
        best, chosen = calibrated.best, calibrated.applied(chosen, options)
    seed = whole_number("seed", seed, 0)
    measures = open_measures(graph, model, chosen, seed, as_of_day(as_of), models, callbacks)
    if best is not None and (lacking := [name for name in measures.names if name not in best]):
        remedy = f"calibrate with them, or choose others (`measures`): {', '.join(best)}"
        raise ArgumentError("calibration", f"does not have {', '.join(lacking)}: {remedy}.")
    flawed, corrected = measures.measure(pairs.flawed), measures.measure(pairs.corrected)
    flawless = measures.measure(pairs.flawless) if pairs.flawless else {}
    by_name = {name: Compared(flawed[name], corrected[name], flawless.get(name)) for name in flawed}
    config = {
        "table": str(table),
        "context": context,
        "pairs": len(pairs.flawed),
        "flawless": len(pairs.flawless),
        **measures.config,
    }
    config |= {"best": best, "calibration": None if path is None else str(path.parent)}
    study = robustness_study(by_name, len(pairs.flawed), pairs.left_out, measures.model, config, seed, best)
    return study.save()


@documented(MeasuresOptions, parameters=[CalibrationOptions])
def study_calibration(
    graph: Graph,
    model: Model | str,
    scores: str | Path | Sequence[Mapping[str, Any]],
    *,
    sentences: int | None = None,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> CalibrationStudy:
    """Study calibration: cross-validated Kendall's τ of measures with human scores.

    >>> capitals = [("Q142", "Q90"), ("Q183", "Q64"), ("Q17", "Q1490"), ("Q29", "Q2807"), ("Q38", "Q220")]
    >>> scores = [
    ...     {"subject": country, "relation": "P36", "object": city, "human_score": place / 5}
    ...     for place, (country, city) in enumerate([*capitals, ("Q96", "Q1489")])
    ... ]
    >>> result = kgprobe.study_calibration(graph, "demo", scores, measures=["probability"])
    >>> result.to_frame()[["measure", "facts"]].values.tolist()
    [['probability', 2], ['probability', 2], ['probability', 2]]

    Cost: each measure over all facts, in ``sentences`` sentences each; as in :func:`study_robustness`.

    Args:
        scores: human scores: objects with subject, relation and object (ids) and human_score in [0, 1], as a list or a
            JSON or CSV file. A fact with several scores counts once, with their mean.

    Other arguments and errors as in :func:`study_robustness`.
    """
    scored = find_scored(graph, read_human_scores(scores))
    if not scored.keys:
        raise ArgumentError("scores", "have no fact of this graph.")
    chosen = make_options(MeasuresOptions, options, "a study of measures")
    make_options(CalibrationOptions, {"sentences": sentences}, "a calibration")
    seed = whole_number("seed", seed, 0)
    measures = open_measures(graph, model, chosen, seed, as_of_day(as_of), models or Models(), callbacks)
    origin = str(scores) if isinstance(scores, (str, Path)) else "a list"
    items = ClozeItems(graph, measures.tools.as_of, sentences=sentences).of(scored.keys, [seed])
    config = {"scores": origin, "facts": len(items), "sentences": sentences, **measures.config}
    few = sum(0 < len(item.clozes) < (sentences or 1) for item in items)
    notes = [few_sentences_note(few, sentences)] if few else []
    return calibration_study(measures.measure(items), scored, measures.model, config, notes, seed=seed).save()


def study_verbalizations(tables: Sequence[str | Path], *, context: str | None = None) -> VerbalizationsStudy:
    """Study errors of sentences: rates by kind and category from people's annotations, and the people's agreement.

    >>> result = kgprobe.study_verbalizations(["ann.csv", "ben.csv"])  # doctest: +SKIP

    No model and no graph are needed.

    Args:
        tables: CSV files in the form of :func:`kgprobe.sample_sentences`, one for each annotator, whose name is that of
            the file. The column errors has kinds separated by commas, or ``-`` for none.
        context: ``present`` or ``past``: only sentences of this context; None uses all.

    Raises:
        ArgumentError: there is no table, one does not exist, two have the same name, or an option has another value.
        KgprobeError: a table is unreadable, or nothing in it is annotated.
    """
    chosen = make_options(VerbalizationsOptions, {"tables": tables, "context": context}, "a study of verbalizations")
    annotators: dict[str, Annotations] = {}
    digests: dict[str, str] = {}
    for table in chosen.tables:
        if not table.is_file():
            raise ArgumentError("tables", f"has {table}, and there is no such file.")
        if table.stem in annotators:
            raise ArgumentError("tables", f"has two files of the annotator {table.stem}; rename one of them.")
        verbalizations, damaged = read_verbalizations(table)
        annotations = annotations_of(verbalizations, chosen.context)
        annotators[table.stem] = replace(annotations, left_out=[*annotations.left_out, *damaged_notes(damaged)])
        digests[table.stem] = hashlib.sha256(table.read_bytes()).hexdigest()
    config = {"annotators": digests, "context": chosen.context}
    return verbalizations_study(annotators, config).save()


@documented(ReplayOptions)
def study_sampling(
    graph: Graph | None = None,
    run: str | None = None,
    *,
    seed: int = 0,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> SamplingStudy:
    """Compare how much sampling rules learn from the same number of questions, in replays; no model is loaded.

    Thompson and uniform sampling, each with and without propagation, sequential sampling, and the rules of the
    hierarchical learner are replayed on facts with known θ: of a run, or of the demo model on the example graph (2,554
    facts, 8 answers each).

    >>> result = kgprobe.study_sampling(requests=256, repeats=2, hardest=20)
    >>> sorted(set(result.to_frame()["strategy"]))[:2]
    ['hardest + hierarchical', 'information + hierarchical']

    Cost: nine strategies times ``repeats``, each a pass over the facts for each round.

    Args:
        graph: graph of the run.
        run: run that gives the true θ, as the share of wrong answers of each fact. Best measurement with
            ``sampling="sequential"``, with 20 answers for each fact. None takes the demo model's answers.
        seed: random seed.
        callbacks: progress and interruption, after each replay.

    Raises:
        UnknownNameError: no such run.
        ArgumentError: no such option, or a value is out of range.
        KgprobeError: the run has too few answers, or a callback stopped the study.
    """
    seed = whole_number("seed", seed, 0)
    chosen = make_options(ReplayOptions, options, "a study of sampling")
    if run is None:
        truth = demo_truth(seed, chosen.repeats)
    elif graph is None:
        raise ArgumentError("graph", "is missing: the run needs its graph.")
    else:
        truth = run_truth(graph, run, chosen.repeats)
    # Replays take minutes: find out before them if the result can be stored.
    make_folder(home() / "studies")
    return sampling_study(truth, chosen, seed, callbacks).save()


def _curves(measurement: Measurement) -> Measured:
    return measured(measurement.outcomes, measurement.config["described"])


def _listed(graph: Graph, measuring: Measuring) -> tuple[Measuring, Sequence[str]]:
    """Return listed facts by key (a file may be readable only once), and messages about missing ones."""
    facts = measuring.get("facts")
    if facts is None:
        return measuring, ()
    listed = list_existing(graph, facts, as_of_day(measuring.get("as_of")))
    return measuring | {"facts": listed.keys}, listed.missing


def _without_drawing(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a study itself, without those that select its facts."""
    drawing = {option.name for option in options_of(Draw)}
    return {name: value for name, value in options.items() if name not in drawing}


def _examples_of(
    graph: Graph,
    model: Model | str,
    templates: Sequence[str],
    callbacks: Callbacks,
    drawing: Measuring,
    seed: int,
    models: Models | None,
) -> tuple[Callable[..., Measurement], int, Sequence[str]]:
    """Choose facts; return a function that measures them by the probe ``examples``, the seed, and messages on facts.

    The arguments of the function are a title and options of the probe.
    """
    opened = models or Models()
    probed = opened.open_asked(model)
    relations = relation_ids(graph, several("relations", drawing.get("relations", ())))
    askable = list(askable_relations(graph, templates, relations))
    common, missing = same_facts(graph, askable, drawing, seed, opened)
    return partial(measure_to_the_end, graph, probed, "examples", callbacks, **common), common["seed"], missing


def _examples_of_dataset(
    dataset: Path,
    sentences: int | None,
    kinds: Sequence[str],
    model: Model | str,
    callbacks: Callbacks,
    drawing: Measuring,
    seed: int,
    models: Models | None,
) -> tuple[Callable[..., Measurement], Mapping[str, str], Sequence[str]]:
    """Return a function that asks the facts of a data set as :func:`_examples_of`, names of relations, and messages."""
    for name in ("facts", "balance", "with_former", "as_of", "choices"):
        if drawing.get(name) not in (None, False):
            raise ArgumentError(name, "has no effect with `dataset`, which has its own facts and choices.")
    files = dataset_files(dataset)
    labels = dataset_relations(files, several("relations", drawing.get("relations", ())))
    counts: dict[str, list[int]] = {relation: [] for relation in labels}
    for kind in kinds:
        templates, generic = cloze_templates(files.path, labels, kind)
        for relation, numbers in counts.items():
            is_own = kind == GENERIC or relation not in generic
            numbers.append(len(templates.get(relation, ())) if is_own else 0)
    written, left_out = _with_sentences(counts, kinds, sentences, labels)
    opened = models or Models()
    probed = opened.open_asked(model)
    selection: dict[str, Any] = {"relations": written, "limit": drawing.get("limit"), "seed": seed, "models": opened}

    def measure_with(title: str, **given: Any) -> Measurement:
        titled = callbacks.titled(title)
        return to_the_end(probe_dataset(files.path, probed, callbacks=titled, **selection, **given), title)

    return measure_with, unique_names({relation: labels[relation] for relation in written}), left_out


def _with_sentences(
    counts: Mapping[str, Sequence[int]], kinds: Sequence[str], number: int | None, names: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return the relations that have cloze sentences of every kind, and messages about the others.

    Args:
        counts: numbers of the sentences of each kind, by relation.
        number: sentences that a relation needs to be in all comparisons; None for one.
        names: names of the relations by id.
    """
    written = [relation for relation, numbers in counts.items() if all(numbers)]
    most = max((min(counts[relation], default=number or 1) for relation in written), default=0)
    sources = " and ".join(kinds)
    if not written:
        raise KgprobeError(
            f"No relation has cloze sentences ({sources}). `kgprobe dataset build --templates` and `kgprobe templates"
            " write` add some; `ways` without sentences needs none."
        )
    if number is not None and number > most:
        raise ArgumentError("sentences", f"is {number}; a relation has at most {most} of each kind ({sources}).")
    messages = []
    if left := len(counts) - len(written):
        messages.append(f"Left out: {counted(left, 'relation')} without cloze sentences ({sources}).")
    # Without a number, and of no kind, none has fewer.
    few = [relation for relation in written if min(counts[relation], default=number or 1) < (number or 1)]
    if few:
        listed = ", ".join(f"{names[relation]} ({min(counts[relation])})" for relation in few)
        messages.append(
            f"Relations with fewer than {number} sentences of a kind are not compared over facts: {listed}."
        )
    return written, messages


def _written_relations(graph: Graph, probes: Sequence[str], relations: Sequence[str]) -> list[str]:
    """Return the ids of the relations with hand-written templates for all of these probes.

    Raises:
        KgprobeError: there are none.
    """
    kinds = [{"distractors": "clozes", "questions": "yes_no_questions"}[probe] for probe in probes]
    written = []
    for relation, row in askable_relations(graph, ids=relation_ids(graph, several("relations", relations))).items():
        if all(row[kind] for kind in kinds):
            written.append(relation)
    if not written:
        raise KgprobeError("No relation has hand-written templates to compare with; `kgprobe load example` has some.")
    return written
