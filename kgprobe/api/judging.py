"""``kgprobe.train_judge`` and other calls about judges: train, open, evaluate, judge a graph, show its figures."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.answers.settings import CONFIG, digest_of, require_identical
from kgprobe.api.stored import open as open_stored
from kgprobe.base.arguments import optional_folder_name, several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import home, make_folder
from kgprobe.base.options import documented, make_options
from kgprobe.base.progress import OnProgress, no_progress
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.judge import JudgedGraphOptions, JudgeOptions
from kgprobe.judge.checks import answer_words, check_labels, check_name, check_reader, check_weights
from kgprobe.judge.files import Judge, check_judge, save_judge
from kgprobe.judge.judged_facts import read_judged_graph
from kgprobe.judge.judged_shards import JUDGED_GRAPH, WHOLE, ShardShare
from kgprobe.judge.labels import TrueFalseLabels, divide_labels, read_labels
from kgprobe.judge.speed import compare_speed
from kgprobe.judge.training import check_training, learn_judge
from kgprobe.judge.whole_graph import judge_on_ray, prepare_judging
from kgprobe.models.model import Model, Models
from kgprobe.models.on_ray.workers import check_ray
from kgprobe.models.spec_forms import is_api, short_name
from kgprobe.results.judge import JudgeComparison, JudgeQuality, TrainedJudge, judge_rows, quality_on
from kgprobe.results.judged_graph import JudgingProgress, read_figures, store_figures
from kgprobe.results.measurement import Measurement
from kgprobe.running.plan import Asking


@documented(JudgeOptions, parameters=[Asking])
def train_judge(
    labels: Measurement | str | Path,
    *,
    model: Model | str | None = None,
    name: str | None = None,
    seed: int = 0,
    models: Models | None = None,
    on_progress: OnProgress = no_progress,
    **options: Any,
) -> TrainedJudge:
    """Train a judge: a classifier that predicts a model's answer to a statement from hidden states.

    >>> labels = kgprobe.measure(graph, "demo", "true-false", limit=2000)  # doctest: +SKIP
    >>> kgprobe.train_judge(labels).summary()  # doctest: +SKIP

    Cost: one forward pass over the labelled statements, through all candidate layers; then see
    :func:`kgprobe.judge.training.choose_classifier`.

    Args:
        labels: measurement of the probe ``true-false``, or its name.
        model: model whose hidden states are read; None for the labels' model. A smaller one of its family may do.
        seed: random seed.
        on_progress: called after statements for the prompt encoder, read statements, and training steps.

    Raises:
        ArgumentError: an argument is out of range, ``labels`` is a measurement of another probe, or the labels' model
            is behind an API and no other is given.
        KgprobeError: too few labels, the name belongs to another judge, the weights of the labels' model have changed,
            its hidden states are not readable, or the prompt encoder cannot be trained.
    """
    chosen = make_options(JudgeOptions, options, "train_judge")
    words = answer_words(chosen.words)
    seed, name = whole_number("seed", seed, 0), optional_folder_name(name)
    answered = _labels(labels)
    check_reader(model, answered)
    data = divide_labels(answered, chosen, seed)
    check_name(name, data.settings())
    check_training(data)
    opened = (models or Models()).open_asked(answered.model if model is None else model)
    scorer = opened.local_scorer()
    opened.refresh()
    described = scorer.describe()
    if model is None:
        check_weights(described, answered)
    check_name(name, {"reader": {key: described[key] for key in ("weights", "dtype")}})
    learned = learn_judge(scorer, data, words, on_progress=on_progress)
    judge = learned.judge
    folder = home() / "judges" / (name or f"{short_name(answered.model)}-{digest_of({'judge': judge.digest()})}")
    make_folder(folder)
    save_judge(judge, folder)
    aside = quality_on(judge, scorer, data.test, words) if data.test.texts else None
    return TrainedJudge(learned=learned, folder=folder, aside=aside)


def evaluate_judge(
    judge: Judge | str | Path,
    labels: Measurement | str | Path,
    *,
    model: Model | str | None = None,
    words: str | None = None,
    everything: bool = False,
    models: Models | None = None,
) -> JudgeQuality:
    """Evaluate a judge on held-out statements.

    Args:
        judge: judge (see :func:`train_judge`), or its name.
        labels: measurement of the probe ``true-false``, or its name: the judge's own, whose test set counts, or
            another one of the same model.
        model: model whose states are read; None opens the judge's own.
        words: answer words of the baseline; None for those of the judge's training.
        everything: True to use all facts of other labels; False to use only facts outside the judge's training set.
        models: as in :func:`kgprobe.measure`.

    Raises:
        KgprobeError: the model is not the judge's, the labels are of another model or other settings, or no label is
            left.
    """
    judge, answered = _judge(judge), _labels(labels)
    answers = answer_words(judge.training["options"]["words"] if words is None else words)
    check_labels(judge, answered)
    statements = answered.statements(judge.training["options"].get("unlabelled", "skip"))
    if not everything:
        _, statements = statements.divide(judge.training["options"]["test_size"], judge.training["seed"])
    if not statements.texts:
        raise KgprobeError(f"{answered.name} has no labels outside the judge's training set.")
    opened = (models or Models()).open_asked(judge.reader["name"] if model is None else model)
    scorer = opened.local_scorer()
    check_judge(judge, scorer)
    return quality_on(judge, scorer, statements, answers)


def compare_judges(judges: Sequence[Judge], models: Models | None = None) -> JudgeComparison:
    """Compare judges, each on the test facts of its own labels; see :func:`kgprobe.compare`."""
    opened = models or Models()
    qualities = [evaluate_judge(judge, str(judge.training["labels"]), models=opened) for judge in judges]
    config = {"judges": [judge.digest() for judge in judges]}
    return JudgeComparison(judges=judge_rows(qualities), config=config)


@documented(JudgedGraphOptions, parameters=[Asking])
def judge_graph(
    graph: Graph,
    judge: Judge | str | Path,
    *,
    model: Model | str | None = None,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    name: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> JudgingProgress:
    """Predict the model's answers to statements about every fact and its negatives, by a judge.

    >>> kgprobe.judge_graph(graph, "my-judge")  # doctest: +SKIP

    The same call resumes an interrupted one, also in several parallel processes.

    Cost: a scan of the graph, once for each of its states; then a forward pass up to the judge's layer over the parts
    that statements do not share. Memory: the model, one shard, and the graph's columns (memory-mapped files).

    Args:
        judge: judge (see :func:`train_judge`), or its name.
        model: model whose states are read; None opens the judge's own.
        relations: ids or names of relations; empty means those of the labels, or all that have statements if the labels
            are of another graph, or with ``all_relations``.
        as_of: date at which facts must be current; None is that of the labels.
        seed: random seed.

    Returns:
        Progress; when all facts are judged, also the figures. The graph stores a summary: a
        ``(:KgprobeJudgedGraph)`` with ``JUDGED`` relationships to relations.

    Raises:
        UnknownNameError: no such relation, or one without templates.
        ArgumentError: an argument is out of range.
        KgprobeError: the graph has no facts to judge; the model is not the judge's; the folder belongs to another
            judged graph, another process makes that share, or it is not writable.
    """
    chosen = make_options(JudgedGraphOptions, options, "judge_graph")
    name, judge, seed = optional_folder_name(name), _judge(judge), whole_number("seed", seed, 0)
    if chosen.compare_speed and is_api(judge.answers_of):
        raise ArgumentError(
            "compare_speed", f"times answers on this machine; {judge.answers_of} is behind an API. Leave it out."
        )
    # Validate what needs neither the graph nor a loaded model first.
    share = WHOLE if chosen.shard is None else ShardShare.read(chosen.shard)
    if chosen.ray is not None:
        check_ray()
    if name is not None:
        _check_name(home() / "judged" / name, judge, seed, chosen.negatives)
    models = models or Models()
    opened = models.open_asked(judge.reader["name"] if model is None else model)
    prepared = prepare_judging(
        graph,
        judge,
        opened,
        chosen,
        relations=relation_ids(graph, several("relations", relations)),
        as_of=None if as_of is None else as_of_day(as_of),
        seed=seed,
    )
    folder = home() / "judged" / (name or f"{short_name(judge.answers_of)}-{digest_of(prepared.config)}")
    if chosen.ray is None:
        shards = prepared.run(folder, share, callbacks)
    else:
        shards = judge_on_ray(prepared, folder, chosen.ray, share, callbacks)
    if not shards.complete:
        return JudgingProgress(folder=folder, shards=shards)
    if chosen.compare_speed:
        answering = opened if judge.answers_of == judge.reader["name"] else models.open_asked(judge.answers_of)
        compare_speed(judge, prepared.scorer, answering.generator(), folder, chosen.compare_speed)
    judged = read_figures(folder)
    store_figures(graph, judged)
    return JudgingProgress(folder=folder, shards=shards, judged=judged, notes=judged.notes)


def _check_name(folder: Path, judge: Judge, seed: int, negatives: int) -> None:
    """Raise KgprobeError if a folder holds a judged graph with other settings."""
    if (folder / CONFIG).exists():
        stored = read_judged_graph(folder)
        before = {"seed": stored.settings.seed, "negatives": stored.settings.negatives, "judge": stored.judge.digest}
        require_identical(folder, before, {"seed": seed, "negatives": negatives, "judge": judge.digest()}, JUDGED_GRAPH)


def _judge(judge: Judge | str | Path) -> Judge:
    return judge if isinstance(judge, Judge) else open_stored(judge, kind="judge")


def _labels(labels: Measurement | str | Path) -> TrueFalseLabels:
    measured = labels if isinstance(labels, Measurement) else open_stored(labels, kind="measurement")
    return read_labels(measured.folder)
