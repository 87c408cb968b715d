"""Settings of stored results, and the differences between two of them."""

from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.results.answers import Stored
from kgprobe.results.run import Run
from kgprobe.running.settings import identity_of

if TYPE_CHECKING:
    from collections.abc import Mapping

# Settings that describe the model; all others must be the same for every model.
_MODEL_SETTINGS = ("model", "scorer", "generator")
_RUN_SETTINGS = ("sampling", "learner", "max_degree", "facts_per_round", "stop_at_width")
# Differences in a message, and characters of a value.
_SHOWN_DIFFERENCES = 5
_SHOWN_CHARACTERS = 80


def settings_of(result: Stored) -> dict[str, Any]:
    """Return all settings that answers depend on, except the model and the list of facts."""
    settings: Mapping[str, Any]
    if isinstance(result, Run):
        settings = result.properties
        mode = {"asked": "in rounds", **{name: settings[name] for name in _RUN_SETTINGS}}
        options = msgspec.json.decode(settings["options"])["options"]
    else:
        settings, mode = result.config, {"asked": "once each"}
        options = settings["options"]
    described = {name: value for name, value in described_by(result).items() if name not in _MODEL_SETTINGS}
    return {
        **mode,
        "seed": settings["seed"],
        "as_of": settings["as_of"],
        "reversed": settings["reversed"],
        # An inverse graph has the state of its original.
        "graph": settings["reversed_of"] if settings["reversed"] else settings["graph"],
        "options": options,
        "described": described,
    }


def described_by(result: Stored) -> dict[str, Any]:
    """Return the probe's description of itself and of its model."""
    described: dict[str, Any] = (
        msgspec.json.decode(result.properties["config"]) if isinstance(result, Run) else result.config["described"]
    )
    return described


def model_identity(result: Stored) -> dict[str, Any]:
    """Return the model's name, and the digest of its weights if known."""
    described = described_by(result)
    loaded: Mapping[str, Any] = described.get("scorer") or described.get("generator") or {}
    return {"model": result.model, "weights": loaded.get("weights")}


def differing_settings(one: Stored, other: Stored) -> list[str]:
    """Return the settings in which two results differ, except the model, its loading and the list of facts."""
    if one.kind.name != other.kind.name:
        return [f"probe is {one.kind.name!r} and {other.kind.name!r}"]
    # The direction is the subject of a comparison; the wording follows from it, and the graph has its own note.
    left_out = ("graph", "reversed", "described") if one.reversed != other.reversed else ()
    ours, theirs = (
        identity_of({name: value for name, value in settings_of(result).items() if name not in left_out})
        for result in (one, other)
    )
    # By the two values: a probe's description repeats most of its options.
    phrases: dict[tuple[str, str], str] = {}
    for name in ours | theirs:
        if ours.get(name) != theirs.get(name):
            values = shortened(ours.get(name)), shortened(theirs.get(name))
            phrase = "the graph is another one, or has changed"
            if name != "graph":
                phrase = f"{name} is {values[0]} and {values[1]}"
            phrases.setdefault(values, phrase)
    shown = list(phrases.values())[:_SHOWN_DIFFERENCES]
    if len(phrases) > len(shown):
        shown.append(f"and {len(phrases) - len(shown)} more")
    return shown


def shortened(value: object) -> str:
    """Return a value for a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
