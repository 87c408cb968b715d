"""The audit trail of a run: its outcomes, one JSON object a line, in the run's folder.

The database is the record. A round's lines are on disk before its transaction, so a run that was killed in between
has lines of a round that never took place; they are cut off when it goes on.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import home
from kgprobe.graph.client import Row
from kgprobe.probes.outcome import Outcome, decode_outcome, read_outcomes

FILE = "outcomes.jsonl"


def run_folder(run: Row) -> Path:
    """Where a run keeps its files; two graphs may have runs of one name, each with a folder of its own.

    Args:
        run: the properties of a run.
    """
    return home() / "runs" / f"{run['id']}-{run['uid']}"


class Trail:
    """The outcomes file of one run, open for appending. A context manager."""

    def __init__(self, folder: Path, rounds: int, outcomes: int) -> None:
        """Open or make the file, and cut off what a round that never took place has left.

        Args:
            folder: the run's, which is there.
            rounds: how many rounds the graph has applied.
            outcomes: how many outcomes these had.

        Raises:
            KgprobeError: the file cannot be written, or lacks outcomes that the graph has counted.
        """
        self.path = folder / FILE
        try:
            self._file = open(self.path, "ab+")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise KgprobeError(f"{self.path} cannot be written: {error.strerror}.") from error
        try:
            self._file.seek(0)
            end = 0
            for number in range(1, outcomes + 1):
                line = self._file.readline()
                if not line.endswith(b"\n") or decode_outcome(line, self.path, number)["round"] > rounds:
                    raise KgprobeError(
                        f"{self.path} holds {number - 1:,} answers where the graph has counted {outcomes:,}. Bring the "
                        "file back from where the run was begun, or begin a new run."
                    )
                end += len(line)
            self._file.truncate(end)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Trail":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, round_: int, outcomes: Sequence[Outcome]) -> None:
        """Write the outcomes of a round; they are on disk when this returns."""
        lines = [msgspec.json.encode({"round": round_, **outcome.as_row()}) + b"\n" for outcome in outcomes]
        self._file.write(b"".join(lines))
        self._file.flush()
        os.fsync(self._file.fileno())

    def take_back(self, outcomes: int) -> None:
        """Cut the file to its first so many outcomes."""
        self._file.seek(0)
        self._file.truncate(sum(len(self._file.readline()) for _ in range(outcomes)))


def read_trail(folder: Path) -> Iterator[dict[str, Any]]:
    """The outcomes of a run, one dictionary a line, in the order in which they were asked.

    Raises:
        KgprobeError: the file is not there, or a line is damaged.
    """
    path = folder / FILE
    if not path.exists():
        raise KgprobeError(f"{path} is not there: the answers of this run were kept on another machine or deleted.")
    return read_outcomes(path)
