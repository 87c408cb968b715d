"""What makes two askings the same: everything that answers depend on, but for the versions of libraries.

Versions are kept with the answers; they change numbers in the last digits if at all.
"""

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from kgprobe import __version__

# What is told of an asking and may be another the next time.
_PASSING = frozenset(("versions", "handshake"))


def identity_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """What is described without versions and handshakes, with dotted names; values as JSON has them."""
    return dict(_flat(msgspec.json.decode(msgspec.json.encode(described))))


def digest_of(described: Mapping[str, Any]) -> str:
    """A short text that is the same for the same identity alone."""
    return hashlib.sha256(msgspec.json.encode(identity_of(described), order="sorted")).hexdigest()[:10]


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs, each as a phrase: ``scorer.weights was 'a', is 'b'``."""
    theirs, ours = identity_of(before), identity_of(now)
    return [
        f"{name} was {theirs.get(name)!r}, is {ours.get(name)!r}"[:300]
        for name in sorted(theirs.keys() | ours.keys())
        if theirs.get(name) != ours.get(name)
    ]


def versions() -> dict[str, str]:
    """Of kgprobe, Python, and what numbers come from."""
    names = ("neo4j", "numpy", "torch", "transformers")
    return {"kgprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}


def _flat(value: Mapping[str, Any], prefix: str = "") -> "list[tuple[str, Any]]":
    flat: list[tuple[str, Any]] = []
    for key, inner in value.items():
        if key in _PASSING:
            continue
        if isinstance(inner, Mapping):
            flat += _flat(inner, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, inner))
    return flat
