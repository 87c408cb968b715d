"""Outcomes on disk: one JSON object a line, appended, and read back as what they were.

A line says its place: the fact's in a measurement, the number of the ask in a run. Where a question that got no answer
is put again, its new line has the place of the old one and stands for it. Nothing is rewritten, so a program that is
killed loses the batch at work and no more; what it left of a line is cut off when it goes on.
"""

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
    """As much of a line as says whose it is."""

    place: int
    verdict: Verdict
    round: int = 0


class Draw(msgspec.Struct, frozen=True):
    """As much of a line of a run as learning from it again needs.

    Attributes:
        inclusion: the probability with which the fact was drawn in its round, given all that was known before; None
            where nobody can say.
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
_decode_draw = msgspec.json.Decoder(Draw).decode
_decode_line = msgspec.json.Decoder(_Line).decode


class OutcomeStore:
    """The outcomes file of one folder, open for appending. A context manager."""

    def __init__(self, folder: Path) -> None:
        """Open or make the file.

        Raises:
            KgprobeError: it cannot be written.
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

    def standing(self) -> tuple[int, list[int]]:
        """How many places have an outcome, and which of these got no answer; the rest of a broken line is cut off.

        Cost: one reading of the file, of a few fields a line.
        """
        self._file.seek(0)
        places = end = 0
        silent: set[int] = set()
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                break
            end += len(line)
            its = self._place(line, number)
            places = max(places, its.place + 1)
            (silent.add if its.verdict is Verdict.UNANSWERED else silent.discard)(its.place)
        self._file.truncate(end)
        return places, sorted(silent)

    def cut_to(self, outcomes: int, rounds: int) -> None:
        """Cut off what a round has left that never took place.

        Args:
            outcomes: how many the graph has counted.
            rounds: how many rounds it has applied.

        Raises:
            KgprobeError: the file lacks outcomes that the graph has counted.
        """
        self._file.seek(0)
        end = 0
        for number in range(1, outcomes + 1):
            line = self._file.readline()
            if not line.endswith(b"\n"):
                raise _lacking(self.path, number - 1, outcomes)
            its = self._place(line, number)
            if its.round > rounds:
                raise _lacking(self.path, number - 1, outcomes)
            if its.place != number - 1:
                raise _misplaced(self.path, number, its.place, number - 1)
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
        """Write outcomes; they are on disk when this returns.

        Args:
            inclusions: with which probability each fact was drawn in the round, where that is known.
            smallest: the smallest inclusion probability of any fact that the round could have drawn, where known.
        """
        known = [None] * len(outcomes) if inclusions is None else inclusions
        lines = [
            encode_line(place, outcome, inclusion, None if inclusion is None else smallest, round_)
            for place, outcome, inclusion in zip(places, outcomes, known, strict=True)
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
        count: of a run, the number that its graph has counted; None of a measurement.
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

    Memory: one outcome, and 100 bytes for each question that was put again.

    Args:
        path: of the file, which is there.
        evidence: the struct of the probe that made it.
        count: the number of outcomes of a run that its graph has counted: so many are read, and each place has one
            line. None reads all lines of a measurement.

    Raises:
        KgprobeError: a line is damaged, missing, or not in its place; the message names file and line. Or the file has
            fewer outcomes than ``count``.
    """
    later = _later_lines(path) if count is None else {}
    decoder = msgspec.json.Decoder(evidence, dec_hook=_decode_array)
    expected = 0
    with _open(path) as file, _open(path) as again:
        for number, line in enumerate(file, start=1):
            if expected == count:
                return
            its = _decoded(path, number, line)
            if its.place < expected and count is None:
                continue
            if its.place != expected:
                raise _misplaced(path, number, its.place, expected)
            expected += 1
            if its.place in later:
                again.seek(later[its.place])
                its = _decoded(path, number, again.readline())
            yield _outcome(path, number, its, decoder)
    if count is not None and expected < count:
        raise _lacking(path, expected, count)


def read_rounds(path: Path, count: int | None = None) -> Iterator[list[Draw]]:
    """Yield what was asked in each round of a run, in their order, but for a line that is still being written.

    Memory: one round.

    Args:
        count: the number of outcomes that the run's graph has counted, which are read; None reads all.

    Raises:
        KgprobeError: the file is not there, a line is damaged or not in its place, or there are fewer lines than
            ``count``; the message names file and line.
    """
    draws: list[Draw] = []
    held = 0
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            if held == count or not line.endswith(b"\n"):
                break
            held = number
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


def encode_line(
    place: int, outcome: Outcome, inclusion: float | None = None, smallest: float | None = None, round_: int = 0
) -> bytes:
    """Return an outcome as a line with its line break."""
    line = {
        "place": place,
        **({"round": round_} if round_ else {}),
        **({} if inclusion is None else {"inclusion": inclusion}),
        **({} if smallest is None else {"smallest": smallest}),
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
    """Where the latest line begins of each place that has several."""
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


def _decoded(path: Path, number: int, line: bytes) -> _Line:
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
        raise KgprobeError(f"{path} is not there: the answers were kept on another machine, or deleted.") from None
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror}.") from error


def _damaged(path: Path, number: int, error: Exception) -> KgprobeError:
    return KgprobeError(f"{path}, line {number}: damaged ({error}).")


def _misplaced(path: Path, number: int, place: int, expected: int) -> KgprobeError:
    return KgprobeError(
        f"{path}, line {number}: its place is {place}, and {expected} is expected. Lines are missing, doubled or in"
        " another order. Bring the file back from a copy, or ask again."
    )


def _lacking(path: Path, held: int, counted: int) -> KgprobeError:
    return KgprobeError(
        f"{path} holds {held:,} answers where the graph has counted {counted:,}. Bring the file back from where the run"
        " was begun, or begin a new run."
    )


def _encode_array(value: Any) -> Any:
    # JSON has no infinities; a plausibility that is none is written as null.
    if isinstance(value, np.ndarray):
        return [number if np.isfinite(number) else None for number in value.tolist()]
    raise NotImplementedError(type(value))


def _decode_array(_: type, value: Any) -> Any:
    return np.array([-np.inf if number is None else number for number in value], dtype=np.float64)
