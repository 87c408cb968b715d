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
from kgprobe.paths import home
from kgprobe.probes.outcome import Outcome

FILE = "outcomes.jsonl"


def run_folder(run: str) -> Path:
    """Where a run of that id keeps its files."""
    return home() / "runs" / run


class Trail:
    """The outcomes file of one run, open for appending. A context manager."""

    def __init__(self, folder: Path, applied: int) -> None:
        """Open or make the file, and cut off everything after round ``applied``.

        Raises:
            KgprobeError: the file cannot be written.
        """
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "ab+")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise KgprobeError(f"{self.path} cannot be written: {error.strerror}.") from error
        self._file.seek(0)
        end = 0
        for line in self._file:
            if not line.endswith(b"\n") or msgspec.json.decode(line)["round"] > applied:
                break
            end += len(line)
        self._file.truncate(end)

    def __enter__(self) -> "Trail":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, round_: int, outcomes: Sequence[Outcome]) -> None:
        """Write the outcomes of a round; they are on disk when this returns."""
        lines = [
            msgspec.json.encode(
                {
                    "round": round_,
                    "subject": outcome.fact.subject,
                    "fact": outcome.fact.fact,
                    "verdict": outcome.verdict.value,
                    "reason": outcome.reason,
                    "prompt": outcome.prompt,
                    "evidence": outcome.evidence,
                }
            )
            + b"\n"
            for outcome in outcomes
        ]
        self._file.write(b"".join(lines))
        self._file.flush()
        os.fsync(self._file.fileno())


def read_trail(folder: Path) -> Iterator[dict[str, Any]]:
    """The outcomes of a run, one dictionary a line, in the order in which they were asked.

    Raises:
        KgprobeError: the file is not there.
    """
    path = folder / FILE
    if not path.exists():
        raise KgprobeError(f"{path} is not there: the answers of this run were kept on another machine or deleted.")
    with open(path, "rb") as file:
        for line in file:
            yield msgspec.json.decode(line)
