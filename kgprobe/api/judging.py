"""``kgprobe.train_judge`` and other calls about judges: train, open, evaluate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgprobe.api.judge_checks import check_labels, check_name, check_reader, check_weights
from kgprobe.api.measuring import open_measurement
from kgprobe.arguments import folder_name, whole_number
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home, make_folder
from kgprobe.judge import JudgeOptions, NetworkOptions
from kgprobe.judge.files import FILE, Judge, check_judge, load_judge, save_judge
from kgprobe.judge.labelled import LabelledStatements, labelled_statements, set_aside
from kgprobe.judge.prompt_encoder import VirtualPrompt, check_peft, learn_virtual_prompt
from kgprobe.judge.prompts import StatePrompt, prompt_for, read_statements, word_probabilities
from kgprobe.judge.quality import Integers, Quality, QualityComparison, compare_quality, quality_of
from kgprobe.judge.splits import Splits, split_statements
from kgprobe.judge.training import Trained, choose_folds
from kgprobe.judge.training import train_judge as choose_judge
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import short_name
from kgprobe.models.states.layers import layer_count
from kgprobe.options import make_options
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.results.judge import JudgeQuality, TrainedJudge
from kgprobe.results.measurement import Measurement
from kgprobe.running.identity import digest_of, versions

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

OnProgress = Callable[[int, int], None]


def _no_progress(done: int, total: int) -> None:
    """Ignore progress."""


def train_judge(
    labels: Measurement | str | Path,
    *,
    model: Model | str | None = None,
    name: str | None = None,
    seed: int = 0,
    models: Models | None = None,
    on_encoder: OnProgress = _no_progress,
    on_states: OnProgress = _no_progress,
    on_training: OnProgress = _no_progress,
    **options: Any,
) -> TrainedJudge:
    """Train a judge: a classifier that predicts a model's answer to a statement from hidden states.

    >>> labels = kgprobe.measure(graph, "demo", "labels", limit=2000)  # doctest: +SKIP
    >>> kgprobe.train_judge(labels).summary()  # doctest: +SKIP

    Cost: one forward pass over the labelled statements, through all candidate layers; then see
    :func:`kgprobe.judge.training.train_judge`.

    Args:
        labels: measurement of the probe ``labels``, or its name.
        model: model whose hidden states are read; None for the labels' model. A smaller one of its family may do.
        name: name of the judge's folder; None derives one from the settings.
        seed: random seed.
        models: open models; None opens models when needed.
        on_encoder, on_states, on_training: called with the finished and total numbers of statements for the prompt
            encoder, statements read, and training steps.
        options: see :class:`~kgprobe.judge.JudgeOptions`.

    Raises:
        ArgumentError: an argument is out of range, ``labels`` is a measurement of another probe, or the labels' model
            is behind an API and no other is given.
        KgprobeError: too few labels, the name belongs to another judge, the weights of the labels' model have changed,
            its hidden states are not readable, or the prompt encoder cannot be trained.
    """
    chosen, words = _checked_options(options)
    seed = whole_number("seed", seed, 0)
    name = None if name is None else folder_name("name", name)
    measured = labels if isinstance(labels, Measurement) else open_measurement(labels)
    statements = _statements(measured)
    check_reader(model if model is None or isinstance(model, str) else model.name, measured)
    settings = {"labels": measured.config, "labelled": len(statements.texts), "options": asdict(chosen), "seed": seed}
    _check_name(name, settings)
    is_test = set_aside(statements.facts, chosen.test_size, seed)
    learned = statements.part(np.flatnonzero(~is_test))
    # Reject unusable labels before loading the model.
    splits = _splits(learned, chosen, seed)
    choose_folds(learned.answers, learned.heads, splits.train, seed)
    if chosen.prompt_encoder:
        check_peft()
    opened = (models or Models()).open(measured.model if model is None else model)
    scorer = opened.local_scorer()
    opened.refresh()
    described = scorer.describe()
    if model is None:
        check_weights(described, measured)
    _check_name(name, {"reader": {key: described[key] for key in ("weights", "dtype")}})
    prompt = prompt_for(measured.config["described"], scorer)
    encoded = None
    if chosen.prompt_encoder:
        # Only the training set of the classifiers, so that the other splits are held out for both.
        own = learned.part(splits.train)
        encoded = learn_virtual_prompt(
            scorer, prompt, own.texts, own.answers, words, chosen, seed=seed, on_progress=on_encoder
        )
    virtual = None if encoded is None else encoded.virtual
    layers = chosen.layers or tuple(range(1, layer_count(scorer.model) + 1))
    states, kept = _states(scorer, prompt, learned, layers, on_states, virtual)
    learned, splits = learned.part(kept), splits.kept(kept)
    network = NetworkOptions(chosen.units, chosen.epochs, chosen.learning_rate, chosen.batch_size)
    trained = choose_judge(
        states,
        learned.answers,
        learned.heads,
        splits,
        sorted(set(layers)),
        network,
        seed=seed,
        on_progress=on_training,
    )
    baseline = _baseline(scorer, prompt, learned, splits, words)
    training = {
        "labels": measured.folder.name,
        "options": asdict(chosen),
        "seed": seed,
        "labelled": len(statements.texts),
        "unlabelled": statements.unlabelled,
        **_training_record(learned, splits, trained, baseline, encoded),
        "versions": versions(),
    }
    judge = Judge(trained.classifier, trained.layer, prompt, described, dict(measured.config), training, virtual)
    folder = home() / "judges" / (name or f"{short_name(measured.model)}-{digest_of({'judge': judge.digest()})}")
    make_folder(folder)
    save_judge(judge, folder)
    rest = statements.part(np.flatnonzero(is_test))
    quality = _quality(judge, scorer, rest, words) if len(rest.texts) else None
    return TrainedJudge(judge=judge, folder=folder, trained=trained, splits=splits, baseline=baseline, aside=quality)


def _checked_options(options: Mapping[str, Any]) -> tuple[JudgeOptions, list[str]]:
    """Return the options of a judge, and its answer words.

    Raises:
        ArgumentError: no such option, or a value is out of range.
    """
    chosen = make_options(JudgeOptions, options, "train_judge")
    for share in ("test_size", "holdout"):
        if not 0 < getattr(chosen, share) < 1:
            raise ArgumentError(share, f"is {getattr(chosen, share)}; expected a share between 0 and 1.")
    return chosen, _answer_words(chosen.words)


def _check_name(name: str | None, settings: Mapping[str, Any]) -> None:
    if name is not None:
        check_name(home() / "judges" / name, settings)


def _training_record(
    learned: LabelledStatements,
    splits: Splits,
    trained: Trained,
    baseline: Mapping[str, Quality | None],
    encoded: VirtualPrompt | None,
) -> dict[str, Any]:
    """Return the training set and the qualities of all candidates, for the judge's file."""
    prompt_encoder = None
    if encoded is not None:
        fields = [name for name in VirtualPrompt.__dataclass_fields__ if name != "virtual"]
        prompt_encoder = {name: getattr(encoded, name) for name in fields}
    return {
        "statements": {field: len(getattr(splits, field)) for field in Splits.__dataclass_fields__},
        "entities": sorted({*learned.heads, *learned.tails}),
        "layers": [asdict(candidate) for candidate in trained.layers],
        "kinds": [asdict(candidate) for candidate in trained.kinds],
        "baseline": {split: None if quality is None else asdict(quality) for split, quality in baseline.items()},
        "prompt_encoder": prompt_encoder,
    }


def open_judge(name: str | Path) -> Judge:
    """Open a judge by its folder, its file, or its name in kgprobe's own folder.

    Raises:
        KgprobeError: no such judge.
    """
    path = Path(name)
    return load_judge(path if path.exists() else home() / "judges" / str(name) / FILE)


def evaluate_judge(
    judge: Judge | str | Path,
    labels: Measurement | str | Path,
    *,
    model: Model | str | None = None,
    words: str = "True/False/Unknown",
    everything: bool = False,
    models: Models | None = None,
) -> JudgeQuality:
    """Evaluate a judge on held-out statements.

    Args:
        judge: judge (see :func:`train_judge`), or its name.
        labels: measurement of the probe ``labels``, or its name: the judge's own, whose test set counts, or another one
            of the same model.
        model: model whose states are read; None opens the judge's own.
        words: answer words of the baseline.
        everything: True to use all facts of other labels; False to use only facts outside the judge's training set.
        models: open models; None opens models when needed.

    Raises:
        KgprobeError: the model is not the judge's, the labels are of another model or other settings, or no label is
            left.
    """
    answers = _answer_words(words)
    opened_judge = judge if isinstance(judge, Judge) else open_judge(judge)
    measured = labels if isinstance(labels, Measurement) else open_measurement(labels)
    check_labels(opened_judge, measured)
    statements = _statements(measured)
    options = opened_judge.training["options"]
    if not everything:
        is_test = set_aside(statements.facts, options["test_size"], opened_judge.training["seed"])
        statements = statements.part(np.flatnonzero(is_test))
    if not len(statements.texts):
        raise KgprobeError(f"{measured.folder.name} has no labels outside the judge's training set.")
    opened = (models or Models()).open(opened_judge.reader["name"] if model is None else model)
    scorer = opened.local_scorer()
    check_judge(opened_judge, scorer)
    return _quality(opened_judge, scorer, statements, answers)


def _statements(measured: Measurement) -> LabelledStatements:
    if measured.kind.name != "labels":
        raise ArgumentError("labels", f"is a measurement of {measured.kind.name}; expected one of the probe labels.")
    statements = labelled_statements(measured.outcomes)
    if not len(statements.texts):
        raise KgprobeError(
            f"{measured.folder.name} has no labels: the answers to all {statements.unlabelled:,} statements disagree or"
            " are unreadable."
        )
    return statements


def _splits(statements: LabelledStatements, options: JudgeOptions, seed: int) -> Splits:
    return split_statements(statements.heads, statements.relations, statements.tails, share=options.holdout, seed=seed)


def _states(
    scorer: "Scorer",
    prompt: StatePrompt,
    statements: LabelledStatements,
    layers: Sequence[int],
    on_progress: OnProgress = _no_progress,
    virtual: "np.ndarray[Any, np.dtype[np.float32]] | None" = None,
) -> "tuple[np.ndarray[Any, np.dtype[np.float32]], np.ndarray[Any, np.dtype[np.int64]]]":
    """Return hidden states, shape (statements, layers, size), and the places of statements that fit the context."""
    done = 0

    def progress(more: int) -> None:
        nonlocal done
        done += more
        on_progress(done, len(statements.texts))

    read = read_statements(scorer.states(layers), prompt, statements.texts, progress, virtual)
    count = len(statements.texts)
    kept = np.array([place for place in range(count) if place not in read.reasons], dtype=np.int64)
    return (read.values if len(kept) == count else read.values[kept]), kept


def _baseline(
    scorer: "Scorer", prompt: StatePrompt, statements: LabelledStatements, splits: Splits, words: Sequence[str]
) -> dict[str, Quality | None]:
    """Return the quality of the answer words' probabilities at the last token, for each split."""
    predicted = word_probabilities(scorer, prompt, statements.texts, words)
    places = {
        "folds": splits.train,
        "other_entities": splits.other_entities,
        "other_relations": splits.other_relations,
    }
    return {
        kind: quality_of(statements.answers[part], predicted[part]) if len(part) else None
        for kind, part in places.items()
    }


def _answer_words(words: str) -> list[str]:
    answers = [word.strip() for word in words.split("/")]
    if len(set(answers)) != len(JUDGEMENTS) or not all(answers):
        raise ArgumentError("words", f"is {words!r}; expected words for true, false and unknown, separated by /.")
    return answers


def _quality(judge: Judge, scorer: "Scorer", statements: LabelledStatements, words: Sequence[str]) -> JudgeQuality:
    states, kept = _states(scorer, judge.prompt, statements, [judge.layer], virtual=judge.virtual)
    statements = statements.part(kept)
    predicted = judge.classifier.probabilities(states[:, 0])
    by_words = word_probabilities(scorer, judge.prompt, statements.texts, words)
    learned = set(judge.training["entities"])
    ends = zip(statements.heads, statements.tails, strict=True)
    held_out = np.flatnonzero([head not in learned and tail not in learned for head, tail in ends])

    def compare(places: Integers) -> QualityComparison:
        facts = [statements.facts[place] for place in places.tolist()]
        return compare_quality(statements.answers[places], predicted[places], by_words[places], facts)

    every = compare(np.arange(len(statements.texts)))
    return JudgeQuality(judge=judge, every=every, apart=compare(held_out) if len(held_out) else None)
