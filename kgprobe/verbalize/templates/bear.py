"""Metadata of relations in BEAR's file ``metadata_relations.json``.

One JSON object, as the package lm-pub-quiz reads it: ``{"P19": {"templates": ["[X] was born in [Y].", …],
"answer_space_ids": ["Q31", …], "answer_space_labels": ["Belgium", …]}, …}``. Wiland, Ploner and Akbik, *BEAR: A Unified
Framework for Evaluating Relational Knowledge in Causal and Masked Language Models*, NAACL 2024.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from kgprobe.records import Rejected
from kgprobe.sources.decoding import DECODING_ERRORS, explain, validation_message
from kgprobe.sources.lines import LINE_LIMIT, InputFile
from kgprobe.sources.values import check_id

FILE = "metadata_relations.json"

_BYTE = re.compile(r"\(byte (\d+)\)")


class _Metadata(Struct):
    templates: list[str] = []
    label: str | None = None
    description: str | None = None
    answer_space_ids: list[str] | None = None
    answer_space_labels: list[str] | None = None


_decode_map = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_metadata = msgspec.json.Decoder(_Metadata).decode


@dataclass(frozen=True, slots=True)
class BearRelation:
    """Metadata of a relation.

    Attributes:
        templates: unchanged, in order.
        answer_ids, answer_labels: answer space, in order; None if there is none.
    """

    id: str
    label: str
    description: str
    templates: tuple[str, ...]
    answer_ids: tuple[str, ...] | None
    answer_labels: tuple[str, ...] | None


def is_metadata(file: InputFile) -> bool:
    """Return True for a file of BEAR's metadata, by its name or because it is one JSON object over several lines.

    Raises:
        KgprobeError: The file can no longer be opened.
    """
    return file.name == FILE or next((line for _, line in file.lines() if line), b"") == b"{"


def read_metadata(file: InputFile) -> Iterator[tuple[int, BearRelation | Rejected]]:
    """Yield the relations of a file with their first lines; unusable ones are rejected.

    Cost: the file is held in memory, up to ``LINE_LIMIT``.

    Raises:
        KgprobeError: The file can no longer be opened.
    """
    whole = bytearray()
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield number, line
            return
        whole += line + b"\n"
        if len(whole) > LINE_LIMIT:
            yield number, Rejected(f"longer than {LINE_LIMIT // 2**20} MiB, the limit for metadata of a data set")
            return
    document = bytes(whole)
    try:
        parts = _decode_map(document)
    except DECODING_ERRORS as error:
        yield _line_of_error(document, error), Rejected(explain(error, document))
        return
    at, line_number = 0, 1
    for identifier, part in parts.items():
        # The last of several equal keys is read, which can lie before the previous position.
        begin = max(document.find(bytes(part), at), at)
        line_number += document.count(b"\n", at, begin)
        at = begin
        try:
            yield line_number, _relation(check_id(identifier, "id of a relation"), bytes(part))
        except DECODING_ERRORS as error:
            reason = (
                validation_message(error) if isinstance(error, msgspec.ValidationError) else explain(error, bytes(part))
            )
            yield line_number, Rejected(f"{identifier[:40]}: {reason}")


def _relation(identifier: str, part: bytes) -> BearRelation:
    metadata = _decode_metadata(part)
    ids, labels = metadata.answer_space_ids, metadata.answer_space_labels
    if (ids is None) != (labels is None):
        missing, present = ("ids", "labels") if ids is None else ("labels", "ids")
        raise ValueError(
            f"it has `answer_space_{present}` but no `answer_space_{missing}`; both are expected, or neither"
        )
    if ids is not None and labels is not None and len(ids) != len(labels):
        raise ValueError(f"{len(ids)} `answer_space_ids` and {len(labels)} `answer_space_labels`; as many are expected")
    return BearRelation(
        id=identifier,
        label=metadata.label or "",
        description=metadata.description or "",
        templates=tuple(metadata.templates),
        answer_ids=None if ids is None else tuple(ids),
        answer_labels=None if labels is None else tuple(labels),
    )


def _line_of_error(document: bytes, error: Exception) -> int:
    """Return the line of the byte in the error message, or else the last line, where truncated JSON ends."""
    byte = _BYTE.search(str(error))
    text = document[: int(byte[1])] if byte else document.rstrip()
    return text.count(b"\n") + 1
