"""What streams of placed records hold."""

from collections.abc import Iterable
from typing import Any

from kgprobe.base.records import Placed, Rejected
from kgprobe.sources.contract import Source


def records(stream: Iterable[Placed]) -> list[Any]:
    return [placed.record for placed in stream]


def messages(*streams: Iterable[Placed]) -> list[str]:
    """Return what a user would read of what was rejected."""
    return [
        f"{placed.file}, line {placed.line}: {placed.record.reason}"
        for stream in streams
        for placed in stream
        if isinstance(placed.record, Rejected)
    ]


def all_messages(source: Source) -> list[str]:
    return messages(source.relations(), source.entities(), source.facts())
