"""Identity of settings: two descriptions are equal if answers depend on nothing else.

Library versions are stored but not compared: they change at most the last digits of numbers.
"""

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from kgprobe import __version__

# Described settings that are not compared.
_IGNORED = frozenset(("versions", "handshake"))


def identity_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description as JSON values with dotted names, without versions and handshakes."""
    return dict(_flat(msgspec.json.decode(msgspec.json.encode(described))))


def digest_of(described: Mapping[str, Any]) -> str:
    """Return a short hash of an identity."""
    return hashlib.sha256(msgspec.json.encode(identity_of(described), order="sorted")).hexdigest()[:10]


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the differences as phrases: ``scorer.weights was 'a', is 'b'``."""
    old, new = identity_of(before), identity_of(now)
    return [
        f"{name} was {old.get(name)!r}, is {new.get(name)!r}"[:300]
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def versions() -> dict[str, str]:
    """Return the versions of kgprobe, Python and the numerical libraries."""
    names = ("neo4j", "numpy", "torch", "transformers")
    return {"kgprobe": __version__, "python": platform.python_version(), **{name: version(name) for name in names}}


def _flat(value: Mapping[str, Any], prefix: str = "") -> "list[tuple[str, Any]]":
    flat: list[tuple[str, Any]] = []
    for key, inner in value.items():
        if key in _IGNORED:
            continue
        if isinstance(inner, Mapping):
            flat += _flat(inner, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, inner))
    return flat
