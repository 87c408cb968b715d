"""Checks before a model is loaded: labels, weights, and names of judges."""

from collections.abc import Mapping
from os.path import commonprefix
from typing import Any

from kgprobe.answers.settings import differences
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import home
from kgprobe.judge.files import FILE, Judge, load_judge
from kgprobe.judge.labels import TrueFalseLabels
from kgprobe.models.spec_forms import is_api
from kgprobe.probes.statements.metrics import JUDGEMENTS

# Settings that an answer depends on, of the prompt and of the model.
_PROMPT_SETTINGS = ("instruction", "answer_tokens", "temperature", "repeats")
_MODEL_SETTINGS = ("weights", "model", "url", "prompt", "top_p")
# Characters of a long value that are shown around its first difference, and before it.
_SHOWN, _BEFORE = 60, 15
# Differing settings in a message.
_NAMED = 3


def answer_words(words: str) -> list[str]:
    """Return the words for true, false and unknown from a text such as ``True/False/Unknown``."""
    answers = list(map(str.strip, words.split("/")))
    if len(set(answers)) != len(JUDGEMENTS) or not all(answers):
        raise ArgumentError("words", f"is {words!r}; expected words for true, false and unknown, separated by /.")
    return answers


def check_labels(judge: Judge, labels: TrueFalseLabels) -> None:
    """Raise an error unless labels have the same settings as those that a judge was trained on."""
    if labels.model != judge.answers_of:
        raise KgprobeError(
            f"The judge predicts answers of {judge.answers_of}; {labels.name} has those of {labels.model}."
        )
    learned, given = _asking(judge.labels), _asking(labels.config)
    parted = []
    for name in learned:
        if learned[name] != given[name]:
            own, other = _shown(learned[name], given[name])
            parted.append(f"{name} {own} for the judge's labels, {other} for these")
    if parted:
        raise KgprobeError(
            f"The judge was trained on labels with other settings than those of {labels.name}:"
            f" {'; '.join(parted)}. Evaluate it with labels of the same model and settings."
        )


def check_reader(model: object, labels: TrueFalseLabels) -> None:
    """Raise an error unless there is a model with readable hidden states."""
    if model is None and is_api(labels.model):
        raise ArgumentError(
            "model",
            f"is missing: {labels.name} has answers of {labels.model}, which is behind an API without hidden"
            " states. Name a local model to read: demo, hf:OWNER/NAME, or hf:./FOLDER; one of the same family is best.",
        )


def check_weights(described: Mapping[str, Any], labels: TrueFalseLabels) -> None:
    """Raise an error if the weights of the labels' model have changed."""
    generator = labels.config["described"].get("generator", {})
    weights = generator.get("weights")
    if weights not in (None, described["weights"]):
        raise KgprobeError(
            f"{labels.name} has answers of {generator['name']} ({generator['dtype']}, weights {weights}), which has"
            f" other weights now ({described['dtype']}, {described['weights']}). Label again, load it in the same"
            " precision (`dtype`), or give it as `model` to read its present states."
        )


def check_name(name: str | None, settings: Mapping[str, Any]) -> None:
    """Raise an error if a judge with this name has other settings."""
    folder = home() / "judges" / str(name)
    if name is None or not (folder / FILE).exists():
        return
    judge = load_judge(folder)
    kept = {
        **{key: judge.training.get(key) for key in ("labelled", "options", "seed")},
        "labels": judge.labels,
        "reader": {key: judge.reader[key] for key in ("weights", "dtype")},
    }
    parted = differences({key: kept[key] for key in settings}, settings)
    if parted:
        more = f", and {len(parted) - _NAMED} more" if len(parted) > _NAMED else ""
        raise KgprobeError(
            f"{folder} has another judge: {'; '.join(parted[:_NAMED])}{more}. Choose another `name`, or delete"
            " that folder."
        )


def _asking(config: Mapping[str, Any]) -> dict[str, Any]:
    described = config["described"]
    generator = described.get("generator", {})
    asking = {name: described.get(name) for name in _PROMPT_SETTINGS}
    return asking | {f"the model's {name}": generator.get(name) for name in _MODEL_SETTINGS}


def _shown(value: Any, other: Any) -> tuple[str, str]:
    """Return two values; of long texts, the part around the first difference."""
    if not (isinstance(value, str) and isinstance(other, str)):
        return repr(value), repr(other)
    first = max(0, len(commonprefix([value, other])) - _BEFORE)  # noqa: RUF071

    def excerpt(text: str) -> str:
        cut = text[first : first + _SHOWN]
        return repr(("…" if first else "") + cut + ("…" if first + _SHOWN < len(text) else ""))

    return excerpt(value), excerpt(other)
