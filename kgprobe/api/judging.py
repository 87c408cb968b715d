"""``kgprobe.train_judge`` and the like: from a model's labels to a judge, and how good it is."""

from collections.abc import Callable, Sequence
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
from kgprobe.judge.training import choose_folds
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


def _nobody(done: int, total: int) -> None:
    """Nobody wants to know."""


def train_judge(
    labels: Measurement | str | Path,
    *,
    model: Model | str | None = None,
    name: str | None = None,
    seed: int = 0,
    models: Models | None = None,
    on_encoder: OnProgress = _nobody,
    on_states: OnProgress = _nobody,
    on_training: OnProgress = _nobody,
    **options: Any,
) -> TrainedJudge:
    """Make a judge: what tells from a model's hidden states what it would say of a statement.

    >>> labels = kgprobe.measure(graph, "demo", "labels", limit=2000)  # doctest: +SKIP
    >>> kgprobe.train_judge(labels).summary()  # doctest: +SKIP

    Cost: one pass of the model over the labelled statements, through all layers that are read; then see
    :func:`kgprobe.judge.training.train_judge`.

    Args:
        labels: a measurement of the probe ``labels``, or its name.
        model: whose hidden states are read; None for the model that was asked. A smaller one of its family may do.
        name: of the judge's folder; None makes one from the settings. Another judge's is not taken.
        seed: what is random follows from it.
        models: opens models by their specs; None opens them as needed.
        on_encoder, on_states, on_training: called with how many statements virtual tokens were learned from, how many
            were read, or steps of training done, and of how many.
        options: see :class:`~kgprobe.judge.JudgeOptions`.

    Raises:
        ArgumentError: an argument cannot be what it is, ``labels`` is a measurement of another probe, or the model that
            was asked is behind an API and no other is named.
        KgprobeError: there are too few labels, another judge has the name, the model's weights are no longer those
            that were asked, its hidden states cannot be read, or a prompt encoder is asked for and cannot be made.
    """
    chosen = make_options(JudgeOptions, options, "train_judge")
    for share in ("test_size", "holdout"):
        if not 0 < getattr(chosen, share) < 1:
            raise ArgumentError(share, f"is {getattr(chosen, share)}; a share between 0 and 1 is expected.")
    words = _answer_words(chosen.words)
    seed = whole_number("seed", seed, 0)
    name = None if name is None else folder_name("name", name)
    measured = labels if isinstance(labels, Measurement) else open_measurement(labels)
    statements = _statements(measured)
    check_reader(model if model is None or isinstance(model, str) else model.name, measured)
    settings = {"labels": measured.config, "labelled": len(statements.texts), "options": asdict(chosen), "seed": seed}
    if name is not None:
        check_name(home() / "judges" / name, settings)
    aside = set_aside(statements.facts, chosen.test_size, seed)
    learned = statements.part(np.flatnonzero(~aside))
    # Labels that nothing can be learned from are told before a model is loaded.
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
    if name is not None:
        check_name(home() / "judges" / name, {"reader": {key: described[key] for key in ("weights", "dtype")}})
    layers = chosen.layers or tuple(range(1, layer_count(scorer.model) + 1))
    prompt = prompt_for(measured.config["described"], scorer)
    encoded = None
    if chosen.prompt_encoder:
        # Of the statements alone that classifiers learn from, too, so that other sides tell of both.
        own = learned.part(splits.train)
        encoded = learn_virtual_prompt(
            scorer, prompt, own.texts, own.answers, words, chosen, seed=seed, on_progress=on_encoder
        )
    virtual = None if encoded is None else encoded.virtual
    states, kept = _states(scorer, prompt, learned, layers, on_states, virtual)
    learned, splits = learned.part(kept), splits.kept(kept)
    trained = choose_judge(
        states,
        learned.answers,
        learned.heads,
        splits,
        sorted(set(layers)),
        NetworkOptions(chosen.units, chosen.epochs, chosen.learning_rate, chosen.batch_size),
        seed=seed,
        on_progress=on_training,
    )
    baseline = _baseline(scorer, prompt, learned, splits, words)
    training = {
        "labels": measured.folder.name,
        "options": asdict(chosen),
        "seed": seed,
        "statements": {field: len(getattr(splits, field)) for field in Splits.__dataclass_fields__},
        "labelled": len(statements.texts),
        "unlabelled": statements.unlabelled,
        "entities": sorted({*learned.heads, *learned.tails}),
        "layers": [asdict(one) for one in trained.layers],
        "kinds": [asdict(one) for one in trained.kinds],
        "baseline": {kind: None if quality is None else asdict(quality) for kind, quality in baseline.items()},
        "prompt_encoder": None
        if encoded is None
        else {name: getattr(encoded, name) for name in VirtualPrompt.__dataclass_fields__ if name != "virtual"},
        "versions": versions(),
    }
    judge = Judge(trained.classifier, trained.layer, prompt, described, dict(measured.config), training, virtual)
    folder = home() / "judges" / (name or f"{short_name(measured.model)}-{digest_of({'judge': judge.digest()})}")
    make_folder(folder)
    save_judge(judge, folder)
    rest = statements.part(np.flatnonzero(aside))
    quality = _quality(judge, scorer, rest, words) if len(rest.texts) else None
    return TrainedJudge(judge=judge, folder=folder, trained=trained, splits=splits, baseline=baseline, aside=quality)


def open_judge(name: str | Path) -> Judge:
    """A judge by its folder, its file, or its name below kgprobe's own folder.

    Raises:
        KgprobeError: there is none.
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
    """How well a judge tells a model's answers to statements that it did not learn from.

    Args:
        judge: as of :func:`train_judge`, or its name.
        labels: a measurement of the probe ``labels``, or its name: the one that the judge was made of, of which what
            was set aside counts, or another one of the same model.
        model: that is read; None opens the one that the judge has learned to read.
        words: whose probabilities the judge is compared with.
        everything: whether all facts of other labels count; else those alone that are not among the judge's own.
        models: opens models by their specs; None opens them as needed.

    Raises:
        KgprobeError: the model is not the one that the judge reads, the labels are answers of another model or were
            asked for in another way, or no label is left.
    """
    answers = _answer_words(words)
    made = judge if isinstance(judge, Judge) else open_judge(judge)
    measured = labels if isinstance(labels, Measurement) else open_measurement(labels)
    check_labels(made, measured)
    statements = _statements(measured)
    options = made.training["options"]
    if not everything:
        aside = set_aside(statements.facts, options["test_size"], made.training["seed"])
        statements = statements.part(np.flatnonzero(aside))
    if not len(statements.texts):
        raise KgprobeError(f"{measured.folder.name} has no label that the judge did not learn from.")
    opened = (models or Models()).open(made.reader["name"] if model is None else model)
    scorer = opened.local_scorer()
    check_judge(made, scorer)
    return _quality(made, scorer, statements, answers)


def _statements(measured: Measurement) -> LabelledStatements:
    if measured.kind.name != "labels":
        raise ArgumentError("labels", f"is a measurement of {measured.kind.name}; one of the probe labels is expected.")
    statements = labelled_statements(measured.outcomes)
    if not len(statements.texts):
        raise KgprobeError(
            f"{measured.folder.name} has no label: {statements.unlabelled:,} statements whose answers do not agree, or"
            " cannot be read."
        )
    return statements


def _splits(statements: LabelledStatements, options: JudgeOptions, seed: int) -> Splits:
    return split_statements(statements.heads, statements.relations, statements.tails, share=options.holdout, seed=seed)


def _states(
    scorer: "Scorer",
    prompt: StatePrompt,
    statements: LabelledStatements,
    layers: Sequence[int],
    on_progress: OnProgress = _nobody,
    virtual: "np.ndarray[Any, np.dtype[np.float32]] | None" = None,
) -> "tuple[np.ndarray[Any, np.dtype[np.float32]], np.ndarray[Any, np.dtype[np.int64]]]":
    """Hidden states of those statements that the model takes, (statements, layers, size); and which these are."""
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
    """What the probabilities of the answers' words at the last token tell, for each side of the statements."""
    told = word_probabilities(scorer, prompt, statements.texts, words)
    places = {
        "folds": splits.train,
        "other_entities": splits.other_entities,
        "other_relations": splits.other_relations,
    }
    return {
        kind: quality_of(statements.answers[part], told[part]) if len(part) else None for kind, part in places.items()
    }


def _answer_words(words: str) -> list[str]:
    answers = [word.strip() for word in words.split("/")]
    if len(set(answers)) != len(JUDGEMENTS) or not all(answers):
        raise ArgumentError("words", f"is {words!r}; words for true, false and unknown are expected, with / between.")
    return answers


def _quality(judge: Judge, scorer: "Scorer", statements: LabelledStatements, words: Sequence[str]) -> JudgeQuality:
    states, kept = _states(scorer, judge.prompt, statements, [judge.layer], virtual=judge.virtual)
    statements = statements.part(kept)
    told = judge.classifier.probabilities(states[:, 0])
    by_words = word_probabilities(scorer, judge.prompt, statements.texts, words)
    learned = set(judge.training["entities"])
    ends = zip(statements.heads, statements.tails, strict=True)
    apart = np.flatnonzero([head not in learned and tail not in learned for head, tail in ends])

    def beside(places: Integers) -> QualityComparison:
        facts = [statements.facts[place] for place in places.tolist()]
        return compare_quality(statements.answers[places], told[places], by_words[places], facts)

    every = beside(np.arange(len(statements.texts)))
    return JudgeQuality(judge=judge, every=every, apart=beside(apart) if len(apart) else None)
