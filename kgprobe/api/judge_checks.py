"""Checks before a model is loaded: labels, weights, and names of judges."""

from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.judge.files import FILE, Judge, load_judge
from kgprobe.models.spec_forms import is_api
from kgprobe.results.measurement import Measurement
from kgprobe.running.identity import differences

# Settings that an answer depends on, of the prompt and of the model.
_PROMPT_SETTINGS = ("instruction", "answer_tokens", "temperature", "times")
_MODEL_SETTINGS = ("weights", "model", "url", "prompt", "top_p")
# Characters of a long value that are shown around its first difference, and before it.
_SHOWN, _BEFORE = 60, 15
# Differing settings in a message.
_NAMED = 3


def check_labels(judge: Judge, measured: Measurement) -> None:
    """Raise an error unless labels have the same settings as those that a judge was trained on.

    Raises:
        KgprobeError: the labels are of another model, weights, or prompt settings.
    """
    if measured.model != judge.answers_of:
        raise KgprobeError(
            f"The judge predicts answers of {judge.answers_of}; {measured.folder.name} has those of {measured.model}."
        )
    learned, given = _asking(judge.labels), _asking(measured.config)
    parted = [
        f"{name} {own} for the judge's labels, {other} for these"
        for name in learned
        if learned[name] != given[name]
        for own, other in [_shown(learned[name], given[name])]
    ]
    if parted:
        raise KgprobeError(
            f"The judge was trained on labels with other settings than those of {measured.folder.name}:"
            f" {'; '.join(parted)}. Evaluate it with labels of the same model and settings."
        )


def check_reader(model: str | None, measured: Measurement) -> None:
    """Raise an error unless there is a model with readable hidden states.

    Args:
        model: the requested model, if any.

    Raises:
        ArgumentError: no model is given, and the labels' model is behind an API.
    """
    if model is None and is_api(measured.model):
        raise ArgumentError(
            "model",
            f"is missing: {measured.folder.name} has answers of {measured.model}, which is behind an API without hidden"
            " states. Name a local model to read: demo, hf:OWNER/NAME, or hf:./FOLDER; one of the same family is best.",
        )


def check_weights(described: Mapping[str, Any], measured: Measurement) -> None:
    """Raise an error if the weights of the labels' model have changed.

    Args:
        described: description of the loaded model.

    Raises:
        KgprobeError: other weights, or another precision.
    """
    labels = measured.config["described"].get("generator", {})
    weights = labels.get("weights")
    if weights not in (None, described["weights"]):
        raise KgprobeError(
            f"{measured.folder.name} has answers of {labels['name']} ({labels['dtype']}, weights {weights}), which has"
            f" other weights now ({described['dtype']}, {described['weights']}). Label again, load it in the same"
            " precision (`dtype`), or give it as `model` to read its present states."
        )


def check_name(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise an error if a folder has a judge with other settings.

    Args:
        settings: all or some settings of :func:`settings_of`.

    Raises:
        KgprobeError: the folder has another judge, or a damaged one.
    """
    if not (folder / FILE).exists():
        return
    kept = settings_of(load_judge(folder))
    parted = differences({name: kept[name] for name in settings}, settings)
    if parted:
        more = f", and {len(parted) - _NAMED} more" if len(parted) > _NAMED else ""
        raise KgprobeError(
            f"{folder} has another judge: {'; '.join(parted[:_NAMED])}{more}. Choose another `name`, or delete"
            " that folder."
        )


def settings_of(judge: Judge) -> dict[str, Any]:
    """Return the settings that determine a judge."""
    training = judge.training
    return {
        "labels": judge.labels,
        "labelled": training.get("labelled"),
        "options": training.get("options"),
        "seed": training.get("seed"),
        "reader": {name: judge.reader[name] for name in ("weights", "dtype")},
    }


def _asking(config: Mapping[str, Any]) -> dict[str, Any]:
    described = config["described"]
    generator = described.get("generator", {})
    return {name: described.get(name) for name in _PROMPT_SETTINGS} | {
        f"the model's {name}": generator.get(name) for name in _MODEL_SETTINGS
    }


def _shown(value: Any, other: Any) -> tuple[str, str]:
    """Return two values; of long texts, the part around the first difference."""
    if not (isinstance(value, str) and isinstance(other, str)):
        return repr(value), repr(other)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(value, other, strict=False)))
    first = max(0, same - _BEFORE)

    def excerpt(text: str) -> str:
        cut = text[first : first + _SHOWN]
        return repr(("…" if first else "") + cut + ("…" if first + _SHOWN < len(text) else ""))

    return excerpt(value), excerpt(other)
