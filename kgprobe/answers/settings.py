"""Settings of answers: their identity, and ``config.json`` in a folder of answers.

Two descriptions are identical if answers depend on nothing else. Library versions are stored but not compared: they
change at most the last digits of numbers. The date at which facts are current is not compared either, where the last
changes of the facts before it are stored (:func:`~kgprobe.graph.state.last_changes`). ``config.json`` is written once
and compared on every later use.
"""

import hashlib
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kgprobe.base.dates import day_text
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import read_json, replacing
from kgprobe.base.version import __version__
from kgprobe.graph.state import state_difference, state_uid
from kgprobe.models.computing import DeviceTime

CONFIG, DECLINED, DEVICE_TIME = "config.json", "declined.json", "device_time.json"
# Digests of the files that were written with the settings.
WRITTEN = "written"
# Content of a measurement's folder in messages.
MEASUREMENT = "measurement"
# Described settings that are not compared.
_IGNORED = frozenset(("versions", "handshake", WRITTEN))
# Settings that describe the model; all others must be the same for every model.
_MODEL_SETTINGS = ("model", "scorer", "generator")
_SHOWN_VALUES = 3
# Characters of a difference.
_LONGEST = 300
# Settings whose names are no words.
_IN_WORDS = {
    "generic": "relations with generic templates",
    "reversed": "inverse",
    "reversed_of": "original of the inverse graph",
    "facts.sha256": "list of facts",
    "facts.order": "order of facts",
    "facts.limit": "limit of facts",
    "scorer.weights": "weights of the model",
    "generator.weights": "weights of the model",
    "scorer.dtype": "precision of the model",
    "generator.dtype": "precision of the model",
}
# Settings that are dates.
_DATES = {"as_of": "date", "last_changes.begun": "last begin of a fact", "last_changes.ended": "last end of a fact"}
AS_OF, LAST_CHANGES, GRAPH = "as_of", "last_changes", "graph"

# Names of results that no user gave: a digest, or the time at which a run began.
_DERIVED = re.compile(r".+-([0-9a-f]{10}|\d{8}-\d{6}-\d{3}(-\d+)?)")

T = TypeVar("T")


class _Described(msgspec.Struct):
    """The part of a probe's description that names its model."""

    model: str


class _MeasurementSettings(msgspec.Struct):
    """The part of a measurement's settings that is read later."""

    probe: str
    options: dict[str, Any]
    described: _Described
    relations: list[str]
    seed: int
    as_of: int
    graph: str
    reversed: bool


def identity_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description as JSON values with dotted names, without versions, handshakes and equivalent dates."""
    ignored = _IGNORED | {AS_OF} if LAST_CHANGES in described else _IGNORED
    return dict(_flat(msgspec.json.decode(msgspec.json.encode(described)), ignored))


def digest_of(described: Mapping[str, Any]) -> str:
    """Return a short hash of an identity."""
    return hashlib.sha256(msgspec.json.encode(identity_of(described), order="sorted")).hexdigest()[:10]


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the differences as distinct phrases, such as ``weights of the model was 'a', is 'b'``.

    >>> before = {"seed": 0, "described": {"clozes": {"director": ["[X] is by [Y]"]}}}
    >>> differences(before, {"seed": 1, "described": {"clozes": {"director": ["[Y] made [X]"]}}})
    ["clozes of director: without '[X] is by [Y]', with '[Y] made [X]' now", 'seed was 0, is 1']
    """
    old, new = identity_of(before), identity_of(now)
    names = _differing(old, new)
    return list(dict.fromkeys(difference_in_words(name, old.get(name), new.get(name)) for name in names))


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that differ between two identities."""
    return [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]


def difference_in_words(name: str, first: Any, second: Any, *, results: bool = False) -> str:
    """Return the difference of two values of a setting as a phrase of at most 300 characters.

    >>> difference_in_words("described.generic", None, ["P36"], results=True)
    "relations with generic templates: only the second has 'P36'"

    Args:
        name: dotted name of the setting.
        results: True if the values are of two results, False if they are of one at an earlier time and now.
    """
    plain = name.replace("described.", "").removeprefix("options.")
    if plain == GRAPH and first and second:
        return state_difference(first, second)
    if plain in _DATES:
        first, second = (value and day_text(value) for value in (first, second))
    words = {**_IN_WORDS, **_DATES}.get(plain)
    setting, _, about = (words, "", "") if words else plain.replace("_", " ").partition(".")
    about = about.replace(".", " ")
    if isinstance(first, list) or isinstance(second, list):
        titled = f"{setting} of {about}" if about else setting
        own = [value for value in first or () if value not in (second or ())]
        new = [value for value in second or () if value not in (first or ())]
        begins = ("only the first has", "only the second has") if results else ("without", "with")
        parts = [f"{begin} {_listed(values)}" for begin, values in zip(begins, (own, new), strict=True) if values]
        return f"{titled}: {', '.join(parts) or 'in another order'}{'' if results else ' now'}"[:_LONGEST]
    values = ["not set" if value is None else repr(value) for value in (first, second)]
    link = (" is ", " and ") if results else (" was ", ", is ")
    return f"{f'{setting} {about}'.strip()}{link[0]}{values[0]}{link[1]}{values[1]}"[:_LONGEST]


def _listed(values: Sequence[Any]) -> str:
    """Return the first values of a list, and the number of the others."""
    shown = ", ".join(map(repr, values[:_SHOWN_VALUES]))
    more = len(values) - _SHOWN_VALUES
    return f"{shown} and {more} more" if more > 0 else shown


def given_name(name: str) -> str | None:
    """Return the name of a result that a user gave; None for a name made of the model and a digest or a time.

    >>> given_name("base"), given_name("gpt2-distractors-bc3a220930"), given_name("gpt2-recall-20261128-091203-017")
    ('base', None, None)
    """
    return None if _DERIVED.fullmatch(name) else name


def versions() -> dict[str, str]:
    """Return the versions of kgprobe, Python and the numerical libraries."""
    names = ("neo4j", "numpy", "torch", "transformers")
    return {"kgprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}


def _flat(value: Mapping[str, Any], ignored: frozenset[str], prefix: str = "") -> "list[tuple[str, Any]]":
    flat: list[tuple[str, Any]] = []
    for key, inner in value.items():
        if key in ignored:
            continue
        if isinstance(inner, Mapping):
            flat += _flat(inner, ignored, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, inner))
    return flat


def claim(folder: Path, config: Mapping[str, Any], content: str) -> None:
    """Write the settings of a folder; raise KgprobeError if it has other ones."""
    if (folder / CONFIG).exists():
        require_identical(folder, read_config(folder, content), config, content)
        return
    write_config(folder, config)


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write the settings of a folder, in place of those that it has."""
    with replacing(folder / CONFIG) as unfinished:
        unfinished.write_bytes(msgspec.json.encode(config, order="sorted"))


def require_identical(folder: Path, stored: Mapping[str, Any], config: Mapping[str, Any], content: str) -> None:
    """Raise a KgprobeError if a folder's settings are not identical with others."""
    changes = differences(stored, config)
    if not changes:
        return
    remedy = "Choose another `name`, or delete the folder."
    if all(name.startswith(LAST_CHANGES) for name in _differing(identity_of(stored), identity_of(config))):
        day = day_text(stored[AS_OF])
        remedy = f"Facts have begun or ended since {day}; to continue, set `as_of` to {day}. {remedy}"
    raise KgprobeError(f"{folder} holds a {content} made with other settings ({'; '.join(changes)}). {remedy}")


def keep_declined(folder: Path, declined: Mapping[str, Iterable[str]]) -> None:
    """Add the parameters that servers have declined to those stored in a folder; a call with cached answers has none.

    Args:
        declined: names of parameters that were left out or replaced, by the model's name.
    """
    stored = read_declined(folder)
    merged = {
        model: sorted({*stored.get(model, ()), *declined.get(model, ())}) for model in sorted({*stored, *declined})
    }
    changed = {model: names for model, names in merged.items() if names}
    if changed != stored:
        with replacing(folder / DECLINED) as unfinished:
            unfinished.write_bytes(msgspec.json.encode(changed))


def read_declined(folder: Path) -> dict[str, list[str]]:
    """Return the parameters that servers have declined for the answers of a folder, by the model's name."""
    try:
        return read_json(folder / DECLINED, dict[str, list[str]], "Delete the file.")
    except FileNotFoundError:
        return {}


def keep_device_time(folder: Path, timed: DeviceTime) -> None:
    """Add the time of a call's asking to that stored in a folder; a call in which no model computed has none."""
    if timed.computed:
        stored = read_device_time(folder)
        total = DeviceTime(stored.seconds + timed.seconds, stored.computed + timed.computed)
        with replacing(folder / DEVICE_TIME) as unfinished:
            unfinished.write_bytes(msgspec.json.encode(total))


def read_device_time(folder: Path) -> DeviceTime:
    """Return the time of asking for the answers of a folder, by all calls that were not killed."""
    try:
        return read_json(folder / DEVICE_TIME, DeviceTime, "Delete the file.")
    except FileNotFoundError:
        return DeviceTime()


def note_of_dates(results: Iterable[Mapping[str, Any]]) -> str:
    """Return a note on settings that differ in the date alone, while the same facts are current; else an empty text."""
    settings = list(results)
    days = sorted({each[AS_OF] for each in settings if AS_OF in each})
    changes = [setting.get(LAST_CHANGES) for setting in settings]
    if len(days) < 2 or not changes[0] or any(other != changes[0] for other in changes):
        return ""
    return f"Facts are as of {' and '.join(map(day_text, days))}: the same facts are current, so nothing else differs."


def read_config(folder: Path, content: str) -> dict[str, Any]:
    """Return the settings of a folder."""
    return read_form(folder, content, dict[str, Any])


def read_form(folder: Path, content: str, form: type[T]) -> T:
    """Return the settings of a folder, checked against a type."""
    try:
        return read_json(folder / CONFIG, form, f"Restore the file, or delete the {content}'s folder.")
    except FileNotFoundError as error:
        raise KgprobeError(f"{folder} holds no {content}: it has no file {CONFIG}.") from error


def read_measurement(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder's measurement."""
    read_form(folder, MEASUREMENT, _MeasurementSettings)
    return read_config(folder, MEASUREMENT)


def graph_of_measurement(folder: Path) -> str | None:
    """Return the uid of the graph that a folder's measurement asked."""
    state = read_form(folder, MEASUREMENT, _MeasurementSettings).graph
    try:
        return state_uid(state)
    except msgspec.DecodeError as error:
        raise KgprobeError(f"{folder / CONFIG} is damaged: the state of the graph is unreadable ({error}).") from error


def settings_in(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that must be equal for results of different models, in those that a measurement stores."""
    changes = config.get(LAST_CHANGES)
    described = {name: value for name, value in config["described"].items() if name not in _MODEL_SETTINGS}
    return {
        "asked": "once each",
        "seed": config["seed"],
        AS_OF: config[AS_OF],
        **({LAST_CHANGES: changes} if changes else {}),
        "reversed": config["reversed"],
        **({"ask_in": config["ask_in"]} if config.get("ask_in") else {}),
        # An inverse graph has the state of its original.
        "graph": config["reversed_of"] if config["reversed"] else config["graph"],
        "options": config["options"],
        "described": described,
    }
