"""Outcomes on disk: an append-only file with one JSON object per line, read back as outcomes.

Each line has a place: that of the fact in a measurement, the number of the question in a run. If an unanswered question
is asked again, its new line has the same place and replaces the old one. Lines are never rewritten, so a killed program
loses the current batch at most; an incomplete last line is cut off on resumption.
"""

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import msgspec
import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import UNREADABLE_JSON, naming_place, owner_only
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.keys import FactKey

FILE = "outcomes.jsonl"

T = TypeVar("T")
E = TypeVar("E")


class _Place(msgspec.Struct, frozen=True):
    """The place and the verdict of a line."""

    place: int
    verdict: Verdict
    round: int = 0


class StoredDraw(msgspec.Struct, frozen=True):
    """The part of a run's line from which a learner replays it.

    Attributes:
        inclusion: inclusion probability of the fact in its round, given everything known before; None where unknown.
        smallest: the smallest inclusion probability of any fact that the round could have drawn; None where unknown.
    """

    place: int
    subject: str
    fact: str
    relation: str
    verdict: Verdict
    round: int
    inclusion: float | None = None
    smallest: float | None = None


class TrailLine(msgspec.Struct, Generic[E], frozen=True, kw_only=True, omit_defaults=True):
    """A line, with its fields in the order of the file; ``inclusion`` and ``smallest`` as in :class:`StoredDraw`."""

    place: int
    round: int = 0
    inclusion: float | None = None
    smallest: float | None = None
    subject: str
    fact: str
    relation: str
    verdict: Verdict
    reason: str | None
    prompt: str
    evidence: E

    @classmethod
    def of(cls, place: int, outcome: Outcome, **draw: Any) -> "TrailLine[Any]":
        """Return the line of an outcome; ``draw`` has the other fields of a run's line."""
        return TrailLine(
            place=place,
            subject=outcome.fact.subject,
            fact=outcome.fact.fact,
            relation=outcome.relation,
            verdict=outcome.verdict,
            reason=outcome.reason,
            prompt=outcome.prompt,
            evidence=outcome.evidence,
            **draw,
        )

    @property
    def outcome(self) -> Outcome:
        """The outcome."""
        fact = FactKey(self.subject, self.fact)
        evidence: Any = self.evidence
        return Outcome(fact, self.verdict, self.relation, self.prompt, self.reason, evidence)


_decode_place = msgspec.json.Decoder(_Place).decode
_BEFORE_PLACE = b'{"place":'
_decode_draw = msgspec.json.Decoder(StoredDraw).decode


class OutcomeStore:
    """The outcomes file of one folder, open for appending. A context manager."""

    def __init__(self, folder: Path) -> None:
        """Open or create the file.

        Raises:
            KgprobeError: the file cannot be written.
        """
        self.path = folder / FILE
        with naming_place(self.path):
            self._file: BinaryIO = open(self.path, "ab+", opener=owner_only)  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> "OutcomeStore":
        return self

    def __exit__(self, *_: object) -> None:
        # Closing a file writes what the disk had no room for.
        with naming_place(self.path):
            self._file.close()

    def progress(self) -> tuple[int, list[int]]:
        """Return the number of places with an outcome and the unanswered ones; cut off an incomplete last line.

        Cost: one pass over the file.
        """
        self._file.seek(0)
        places = end = 0
        unanswered: set[int] = set()
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                break
            end += len(line)
            entry = _decoded(_decode_place, self.path, number, line)
            places = max(places, entry.place + 1)
            if entry.verdict is Verdict.UNANSWERED:
                unanswered.add(entry.place)
            else:
                unanswered.discard(entry.place)
        self._file.truncate(end)
        return places, sorted(unanswered)

    def cut_to(self, outcomes: int, rounds: int) -> None:
        """Cut off the outcomes of a round that was not applied.

        Args:
            outcomes: number of outcomes that the graph has counted.
            rounds: number of rounds that the graph has applied.

        Raises:
            KgprobeError: the file lacks outcomes that the graph has counted.
        """
        self._file.seek(0)
        end = 0
        for number in range(1, outcomes + 1):
            line = self._file.readline()
            if not line.endswith(b"\n"):
                raise _lacking(self.path, number - 1, outcomes)
            entry = _decoded(_decode_place, self.path, number, line)
            if entry.round > rounds:
                raise _lacking(self.path, number - 1, outcomes)
            if entry.place != number - 1:
                raise _misplaced(self.path, number, entry.place, number - 1)
            end += len(line)
        self._file.truncate(end)

    def append(
        self,
        places: Sequence[int],
        outcomes: Sequence[Outcome],
        round_: int = 0,
        inclusions: Sequence[float | None] | None = None,
        smallest: float | None = None,
    ) -> None:
        """Write outcomes and synchronise the file to disk.

        Args:
            inclusions, smallest: of each fact, and of the round, see :class:`StoredDraw`.

        Raises:
            KgprobeError: the disk is full, or cannot be written.
        """
        inclusions = inclusions or [None] * len(outcomes)
        with naming_place(self.path):
            for place, outcome, inclusion in zip(places, outcomes, inclusions, strict=True):
                line_smallest = None if inclusion is None else smallest
                self._file.write(encode_line(place, outcome, inclusion, line_smallest, round_))
            self._file.flush()
            os.fsync(self._file.fileno())


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of a folder, read from its file in each iteration.

    Attributes:
        count: number that the graph has counted, for a run; None for a measurement.
    """

    path: Path
    evidence: type[msgspec.Struct]
    count: int | None = None

    def __iter__(self) -> Iterator[Outcome]:
        return read_outcomes(self.path, self.evidence, self.count)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def read_outcomes(path: Path, evidence: type[msgspec.Struct], count: int | None = None) -> Iterator[Outcome]:
    """Yield the outcomes of a file; see :func:`read_lines`."""
    return map(attrgetter("outcome"), read_lines(path, evidence, count))


def read_lines(path: Path, evidence: type[msgspec.Struct], count: int | None = None) -> Iterator[TrailLine[Any]]:
    """Yield the latest line of each place, in their order.

    Memory: one line, and 100 bytes for each question that was asked again.

    Args:
        path: of an existing file.
        evidence: struct of the probe's evidence.
        count: number of outcomes to read, for a run: the ones that its graph has counted, with one line per place. None
            reads all lines of a measurement.

    Raises:
        KgprobeError: a line is damaged, missing, or out of order (the message names file and line), or the file has
            fewer outcomes than ``count``.
    """
    later = _later_lines(path) if count is None else {}
    form: Any = TrailLine
    decode: Callable[[bytes], TrailLine[Any]] = msgspec.json.Decoder(
        form[evidence | None], dec_hook=_decode_array
    ).decode
    expected = 0
    with open_trail(path) as file, open_trail(path) as again:
        for number, line in enumerate(file, start=1):
            if expected == count:
                return
            entry = _decoded(decode, path, number, line)
            if entry.place < expected and count is None:
                continue
            if entry.place != expected:
                raise _misplaced(path, number, entry.place, expected)
            expected += 1
            if entry.place in later:
                again.seek(later[entry.place])
                entry = _decoded(decode, path, number, again.readline())
            yield entry
    if count is not None and expected < count:
        raise _lacking(path, expected, count)


def read_rounds(path: Path, count: int, start: int = 0) -> Iterator[list[StoredDraw]]:
    """Yield the draws of each round of a run in order.

    Memory: one round.

    Args:
        count: number of outcomes to read: the ones that the run's graph has counted.
        start: number of outcomes to skip, those of the first rounds.

    Raises:
        KgprobeError: the file is missing, a line is damaged or out of order (the message names file and line), or the
            file has fewer lines than ``count``.
    """
    for _, draws in itertools.groupby(_read_draws(path, count, start), attrgetter("round")):
        yield list(draws)


def _read_draws(path: Path, count: int, start: int) -> Iterator[StoredDraw]:
    held = 0
    with open_trail(path) as file:
        for number, line in enumerate(itertools.islice(file, count), start=1):
            if not line.endswith(b"\n"):
                break
            held = number
            if number > start:
                draw = _decoded(_decode_draw, path, number, line)
                if draw.place != number - 1:
                    raise _misplaced(path, number, draw.place, number - 1)
                yield draw
    if held < count:
        raise _lacking(path, held, count)


def digest_of_answers(path: Path, count: int | None) -> str:
    """Return a hash of the first lines of a file of answers, None for all; empty if it has fewer than ``count``."""
    digest = hashlib.sha256()
    held = 0
    with open_trail(path) as file:
        for line in itertools.islice(file, count):
            digest.update(line)
            held += 1
    return digest.hexdigest() if count is None or held == count else ""


def encode_line(
    place: int, outcome: Outcome, inclusion: float | None = None, smallest: float | None = None, round_: int = 0
) -> bytes:
    """Return an outcome as a line with its line break."""
    line = TrailLine.of(place, outcome, inclusion=inclusion, smallest=smallest, round=round_)
    return msgspec.json.encode(line, enc_hook=_encode_array) + b"\n"


def _later_lines(path: Path) -> dict[int, int]:
    """Return the offset of the latest line of each place that has several lines."""
    later: dict[int, int] = {}
    expected = offset = 0
    with open_trail(path) as file:
        for number, line in enumerate(file, start=1):
            # The place is the first field: decoding all of a line takes three times as long.
            if line.startswith(_BEFORE_PLACE) and b"," in line:
                place = int(line[len(_BEFORE_PLACE) : line.index(b",")])
            else:
                place = _decoded(_decode_place, path, number, line).place
            if place < expected:
                later[place] = offset
            elif place > expected:
                raise _misplaced(path, number, place, expected)
            else:
                expected += 1
            offset += len(line)
    return later


def _decoded(decode: Callable[[bytes], T], path: Path, number: int, line: bytes) -> T:
    """Return a decoded line; raise KgprobeError if it is damaged."""
    try:
        return decode(line)
    except UNREADABLE_JSON as error:
        raise KgprobeError(f"{path}, line {number}: damaged ({error}).") from error


def open_trail(path: Path) -> BinaryIO:
    """Open a file of answers; raise KgprobeError if it cannot be read."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise KgprobeError(f"{path} does not exist: the answers are on another machine, or deleted.") from None
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror}.") from error


def _misplaced(path: Path, number: int, place: int, expected: int) -> KgprobeError:
    return KgprobeError(
        f"{path}, line {number}: its place is {place}, and {expected} is expected. Lines are missing, doubled or out of"
        " order. Restore the file from a copy, or ask again."
    )


def _lacking(path: Path, held: int, counted: int) -> KgprobeError:
    return KgprobeError(
        f"{path} holds {held:,} answers, but the graph has counted {counted:,}. Restore the file from the machine where"
        " the run was begun, or begin a new run."
    )


def _encode_array(value: Any) -> Any:
    # JSON has no infinity: msgspec writes -inf, a missing plausibility, as null.
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(type(value))


def _decode_array(_: type, value: Any) -> Any:
    return np.array([-np.inf if number is None else number for number in value], dtype=np.float64)
