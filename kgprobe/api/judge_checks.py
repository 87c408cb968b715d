"""What is refused before a model is read: labels that were asked in another way, and names that other judges have."""

from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.judge.files import FILE, Judge, load_judge
from kgprobe.models.spec_forms import is_api
from kgprobe.results.measurement import Measurement
from kgprobe.running.identity import differences

# What an answer depends on beside the statement: how it is asked for, and of whom.
_ASKING = ("instruction", "answer_tokens", "temperature", "times")
_ASKED = ("weights", "model", "url", "prompt", "top_p")
# Characters of a long value around where it differs, and before that.
_SHOWN, _BEFORE = 60, 15
# Of settings that differ, so many are named.
_NAMED = 3


def check_labels(judge: Judge, measured: Measurement) -> None:
    """Whether labels are answers of the kind that a judge has learned to tell.

    Raises:
        KgprobeError: they are of another model, of other weights of it, or were asked for in another way.
    """
    if measured.model != judge.answers_of:
        raise KgprobeError(
            f"The judge tells the answers of {judge.answers_of}; {measured.folder.name} has those of {measured.model}."
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
            f"The judge learned from answers that were asked for in another way than those of {measured.folder.name}:"
            f" {'; '.join(parted)}. Evaluate it with labels of the same model that were asked for alike."
        )


def check_reader(model: str | None, measured: Measurement) -> None:
    """Whether there is a model whose hidden states can be read.

    Args:
        model: the one that was named, if any.

    Raises:
        ArgumentError: none is named, and the model that was asked shows no hidden states.
    """
    if model is None and is_api(measured.model):
        raise ArgumentError(
            "model",
            f"is not given: {measured.folder.name} has answers of {measured.model}, which is behind an API and shows no"
            " hidden states. Name a model on this machine whose states are to be read: demo, hf:OWNER/NAME, or"
            " hf:./FOLDER with a model in it; one of the same family is best.",
        )


def check_weights(described: Mapping[str, Any], measured: Measurement) -> None:
    """Whether the model that is read, since no other was named, is still the one that was asked.

    Args:
        described: the model, as its scorer describes it.

    Raises:
        KgprobeError: its weights are others by now, or in another precision.
    """
    asked = measured.config["described"].get("generator", {})
    weights = asked.get("weights")
    if weights not in (None, described["weights"]):
        raise KgprobeError(
            f"{measured.folder.name} has answers of {asked['name']} ({asked['dtype']}, weights {weights}); of that name"
            f" there are other weights now ({described['dtype']}, {described['weights']}). Label anew, load it in the"
            " same precision (`dtype`), or name it with `model` to read the states of what it is now."
        )


def check_name(folder: Path, settings: Mapping[str, Any]) -> None:
    """Whether a folder has no judge yet, or one that was made with the same settings.

    Args:
        settings: as :func:`settings_of` has them, or some of them.

    Raises:
        KgprobeError: another judge is there, or what is there is none.
    """
    if not (folder / FILE).exists():
        return
    kept = settings_of(load_judge(folder))
    parted = differences({name: kept[name] for name in settings}, settings)
    if parted:
        more = f", and {len(parted) - _NAMED} more" if len(parted) > _NAMED else ""
        raise KgprobeError(
            f"{folder} has another judge: {'; '.join(parted[:_NAMED])}{more}. Give this one another `name`, or remove"
            " that folder first."
        )


def settings_of(judge: Judge) -> dict[str, Any]:
    """What a judge follows from, together with the code that makes it."""
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
    return {name: described.get(name) for name in _ASKING} | {
        f"the model's {name}": generator.get(name) for name in _ASKED
    }


def _shown(one: Any, other: Any) -> tuple[str, str]:
    """Two values, of long texts the part where they are no longer the same."""
    if not (isinstance(one, str) and isinstance(other, str)):
        return repr(one), repr(other)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    first = max(0, same - _BEFORE)

    def part(text: str) -> str:
        cut = text[first : first + _SHOWN]
        return repr(("…" if first else "") + cut + ("…" if first + _SHOWN < len(text) else ""))

    return part(one), part(other)
