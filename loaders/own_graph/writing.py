"""A mapping as text in TOML, with remarks for the one who looks through it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from kgprobe.sanitize import visible
from kgprobe.sources.values import tidy

from .mapping import EntityKind, Facts, NodeFacts, RelationshipFacts, RelationshipSide

T = TypeVar("T", bound=EntityKind | Facts)

# JSON leaves these as they are, and TOML forbids some of them; the others would be unseen or turn a line round.
_HIDDEN = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LONGEST_REMARK = 300

_HEAD = """\
# What `kgprobe load graph` reads of {name}.
# Proposed of what the graph has. Look through it:
# - Are these the entities, and are they called by the right property? An id tells all nodes of a label apart.
# - Is each of these a fact that one could be asked? Take out the others.
# - Do the sentences say what the graph means? [X] is the subject, [Y] the object; a cloze ends in [Y].
# docs/guides/your-own-graph.md tells of all keys.
"""


@dataclass(frozen=True, slots=True)
class Proposed(Generic[T]):
    """A part of a mapping, with remarks for the lines above it."""

    what: T
    remarks: Sequence[str]


def written(
    name: str, entities: Sequence[Proposed[Any]], facts: Sequence[Proposed[Any]], left_out: Mapping[str, int]
) -> str:
    """A mapping's text.

    Args:
        name: name of the graph.
        left_out: labels without a proposal, with their numbers of nodes.
    """
    parts = [_HEAD.format(name=_remark(name))]
    parts += [_part("entities", kind) for kind in entities]
    if left_out:
        parts.append("".join(f"# Left out: {_remark(label)} ({count:,} nodes)\n" for label, count in left_out.items()))
    for proposed in facts:
        kind = "relationship" if isinstance(proposed.what, RelationshipFacts) else "property"
        parts.append(_part("node_facts" if isinstance(proposed.what, NodeFacts) else f"{kind}_facts", proposed))
    return "\n".join(parts)


def _part(table: str, proposed: Proposed[Any]) -> str:
    lines = [*(f"# {_remark(remark)}" for remark in proposed.remarks), f"[[{table}]]"]
    lines += [f"{key} = {value}" for key, value in _pairs(proposed.what)]
    if table != "entities" and not proposed.what.clozes:
        lines.append("# No sentence could be made of its name. Its facts are not asked without one:")
        lines.append('# clozes = ["[X] … [Y]"]')
    return "\n".join(lines) + "\n"


def _pairs(what: Any) -> Iterator[tuple[str, str]]:
    """Return the values that differ from the defaults as TOML, the identifying ones first."""
    fields = sorted(msgspec.structs.fields(what), key=lambda each: not each.required)
    order = ["from", "to", "id"]
    fields.sort(key=lambda each: (not each.required, each.encode_name not in order))
    for each in fields:
        value = getattr(what, each.name)
        if each.required or value != each.default:
            yield each.encode_name, _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, RelationshipSide):
        inner = ", ".join(f"{key} = {text}" for key, text in _pairs(value))
        return f"{{ {inner} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    # A TOML text is a JSON text, except for hidden characters.
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(str(value), ensure_ascii=False))


def _remark(text: str) -> str:
    shown = visible(tidy(text))
    return shown if len(shown) <= _LONGEST_REMARK else f"{shown[:_LONGEST_REMARK]}…"
