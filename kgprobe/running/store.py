"""Outcomes on disk: an append-only file with one JSON object per line, read back as outcomes.

Each line has a place: that of the fact in a measurement, the number of the question in a run. If an unanswered question
is asked again, its new line has the same place and replaces the old one. Lines are never rewritten, so a killed program
loses the current batch at most; an incomplete last line is cut off on resumption.
"""

import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from kgprobe.errors import KgprobeError
from kgprobe.files import owner_only
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.keys import FactKey

FILE = "outcomes.jsonl"


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


class _Line(msgspec.Struct, frozen=True):
    place: int
    subject: str
    fact: str
    relation: str
    verdict: Verdict
    reason: str | None
    prompt: str
    evidence: msgspec.Raw
    round: int = 0


_decode_place = msgspec.json.Decoder(_Place).decode
_decode_draw = msgspec.json.Decoder(StoredDraw).decode
_decode_line = msgspec.json.Decoder(_Line).decode


class OutcomeStore:
    """The outcomes file of one folder, open for appending. A context manager."""

    def __init__(self, folder: Path) -> None:
        """Open or create the file.

        Raises:
            KgprobeError: the file cannot be written.
        """
        self.path = folder / FILE
        try:
            self._file: BinaryIO = open(self.path, "ab+", opener=owner_only)  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise KgprobeError(f"{self.path} cannot be written: {error.strerror}.") from error

    def __enter__(self) -> "OutcomeStore":
        return self

    def __exit__(self, *_: object) -> None:
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
            entry = self._place(line, number)
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
            entry = self._place(line, number)
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
            inclusions: inclusion probability of each fact in the round; None where unknown.
            smallest: the smallest inclusion probability of any fact that the round could have drawn; None if unknown.
        """
        inclusions = [None] * len(outcomes) if inclusions is None else inclusions
        lines = [
            encode_line(place, outcome, inclusion, None if inclusion is None else smallest, round_)
            for place, outcome, inclusion in zip(places, outcomes, inclusions, strict=True)
        ]
        self._file.write(b"".join(lines))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _place(self, line: bytes, number: int) -> _Place:
        try:
            return _decode_place(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _damaged(self.path, number, error) from error


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
    """Yield the outcomes of a file in the order of their places, each with its latest line.

    Memory: one outcome, and 100 bytes for each question that was asked again.

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
    decoder = msgspec.json.Decoder(evidence, dec_hook=_decode_array)
    expected = 0
    with _open(path) as file, _open(path) as again:
        for number, line in enumerate(file, start=1):
            if expected == count:
                return
            entry = _read_line(path, number, line)
            if entry.place < expected and count is None:
                continue
            if entry.place != expected:
                raise _misplaced(path, number, entry.place, expected)
            expected += 1
            if entry.place in later:
                again.seek(later[entry.place])
                entry = _read_line(path, number, again.readline())
            yield _outcome(path, number, entry, decoder)
    if count is not None and expected < count:
        raise _lacking(path, expected, count)


def read_rounds(path: Path, count: int | None = None, start: int = 0) -> Iterator[list[StoredDraw]]:
    """Yield the draws of each round of a run in order.

    Memory: one round.

    Args:
        count: number of outcomes to read: the ones that the run's graph has counted; None reads all complete lines.
        start: number of outcomes to skip, those of the first rounds.

    Raises:
        KgprobeError: the file is missing, a line is damaged or out of order (the message names file and line), or the
            file has fewer lines than ``count``.
    """
    draws: list[StoredDraw] = []
    held = 0
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            if held == count or not line.endswith(b"\n"):
                break
            held = number
            if number <= start:
                continue
            try:
                draw = _decode_draw(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise _damaged(path, number, error) from error
            if draw.place != number - 1:
                raise _misplaced(path, number, draw.place, number - 1)
            if draws and draw.round != draws[0].round:
                yield draws
                draws = []
            draws.append(draw)
    if count is not None and held < count:
        raise _lacking(path, held, count)
    if draws:
        yield draws


def digest_of_answers(path: Path, count: int) -> str:
    """Return a hash of the first lines of a file of answers; empty if it has fewer than ``count``."""
    digest = hashlib.sha256()
    held = 0
    with _open(path) as file:
        for line in itertools.islice(file, count):
            digest.update(line)
            held += 1
    return digest.hexdigest() if held == count else ""


def encode_line(
    place: int, outcome: Outcome, inclusion: float | None = None, smallest: float | None = None, round_: int = 0
) -> bytes:
    """Return an outcome as a line with its line break."""
    optional = {"round": round_ or None, "inclusion": inclusion, "smallest": smallest}
    line = {
        "place": place,
        **{name: value for name, value in optional.items() if value is not None},
        "subject": outcome.fact.subject,
        "fact": outcome.fact.fact,
        "relation": outcome.relation,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "prompt": outcome.prompt,
        "evidence": outcome.evidence,
    }
    return msgspec.json.encode(line, enc_hook=_encode_array) + b"\n"


def _later_lines(path: Path) -> dict[int, int]:
    """Return the offset of the latest line of each place that has several lines."""
    later: dict[int, int] = {}
    expected = offset = 0
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                place = _decode_place(line).place
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise _damaged(path, number, error) from error
            if place < expected:
                later[place] = offset
            elif place > expected:
                raise _misplaced(path, number, place, expected)
            else:
                expected += 1
            offset += len(line)
    return later


def _read_line(path: Path, number: int, line: bytes) -> _Line:
    try:
        return _decode_line(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, number, error) from error


def _outcome(path: Path, number: int, line: _Line, decoder: "msgspec.json.Decoder[Any]") -> Outcome:
    try:
        evidence = None if bytes(line.evidence) == b"null" else decoder.decode(line.evidence)
    except (msgspec.DecodeError, ValueError) as error:
        raise _damaged(path, number, error) from error
    return Outcome(FactKey(line.subject, line.fact), line.verdict, line.relation, line.prompt, line.reason, evidence)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise KgprobeError(f"{path} does not exist: the answers are on another machine, or deleted.") from None
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror}.") from error


def _damaged(path: Path, number: int, error: Exception) -> KgprobeError:
    return KgprobeError(f"{path}, line {number}: damaged ({error}).")


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
    # JSON has no infinity: -inf, a missing plausibility, is written as null.
    if isinstance(value, np.ndarray):
        return [number if np.isfinite(number) else None for number in value.tolist()]
    raise NotImplementedError(type(value))


def _decode_array(_: type, value: Any) -> Any:
    return np.array([-np.inf if number is None else number for number in value], dtype=np.float64)
