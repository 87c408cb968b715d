"""Answers on disk: lines that are missing, doubled or in another order are named."""

import errno
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kgprobe.answers.store import FILE, OutcomeStore, encode_line, read_outcomes, read_rounds
from kgprobe.base import files
from kgprobe.base.errors import KgprobeError
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.keys import FactKey
from tests.probes.distractors.written import distractor_evidence

COUNT = 12
Change = Callable[[list[bytes]], Sequence[bytes]]


def lines() -> list[bytes]:
    evidence = distractor_evidence([[-1.0, -2.0]])
    outcomes = [Outcome(FactKey("s", f"f{n}"), Verdict.RIGHT, "P1", evidence=evidence) for n in range(COUNT)]
    return [encode_line(place, one, 0.1, 0.1, 1 + place // 4) for place, one in enumerate(outcomes)]


def shuffled(written: list[bytes]) -> list[bytes]:
    random.Random(1).shuffle(written)
    return written


CHANGES: dict[str, Change] = {
    "another order": shuffled,
    "a gap": lambda written: [*written[:5], *written[6:]],
    "no beginning": lambda written: written[3:],
}
RUN_CHANGES: dict[str, Change] = CHANGES | {
    "a doubled line": lambda written: [*written[:5], written[4], *written[5:]],
    "no end": lambda written: written[:-1],
    "nothing": lambda _: [],
}


def test_plausibility_of_zero_is_null_in_the_file(tmp_path: Path) -> None:
    evidence = distractor_evidence([[-1.0, -math.inf]])
    line = encode_line(0, Outcome(FactKey("s", "f"), Verdict.RIGHT, "P1", evidence=evidence))
    assert b'"log_plausibilities":[-1.0,null]' in line
    (tmp_path / FILE).write_bytes(line)
    (outcome,) = read_outcomes(tmp_path / FILE, DistractorEvidence)
    assert isinstance(outcome.evidence, DistractorEvidence)
    assert outcome.evidence.sentences[0].log_plausibilities.tolist() == [-1.0, -math.inf]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_measurement_with_misplaced_lines_is_refused(tmp_path: Path, change: Change) -> None:
    (tmp_path / FILE).write_bytes(b"".join(change(lines())))
    with pytest.raises(KgprobeError, match=r"line \d+: its place is \d+, and \d+ is expected"):
        list(read_outcomes(tmp_path / FILE, DistractorEvidence))


@pytest.mark.parametrize("change", RUN_CHANGES.values(), ids=RUN_CHANGES.keys())
def test_run_with_trail_unlike_graph_is_refused(tmp_path: Path, change: Change) -> None:
    (tmp_path / FILE).write_bytes(b"".join(change(lines())))
    refused = r"its place is \d+, and \d+ is expected|but the graph has counted 12"
    with pytest.raises(KgprobeError, match=refused):
        list(read_outcomes(tmp_path / FILE, DistractorEvidence, COUNT))
    with pytest.raises(KgprobeError, match=refused):
        list(read_rounds(tmp_path / FILE, COUNT))
    with OutcomeStore(tmp_path) as store, pytest.raises(KgprobeError, match=refused):
        store.cut_to(COUNT, 3)


def test_what_the_graph_has_not_counted_is_not_read(tmp_path: Path) -> None:
    written = lines()
    # A program that was killed has left a whole line and half a one.
    (tmp_path / FILE).write_bytes(b"".join([*written[:9], written[9][:40]]))
    assert [one.fact.fact for one in read_outcomes(tmp_path / FILE, DistractorEvidence, 8)] == [
        f"f{n}" for n in range(8)
    ]
    assert [len(draws) for draws in read_rounds(tmp_path / FILE, 8)] == [4, 4]


def test_question_that_was_put_again_has_its_latest_answer(tmp_path: Path) -> None:
    again = encode_line(3, Outcome(FactKey("s", "f3"), Verdict.UNASKABLE, "P1", reason="no name"))
    (tmp_path / FILE).write_bytes(b"".join([*lines(), again]))
    found = list(read_outcomes(tmp_path / FILE, DistractorEvidence))
    assert [one.verdict for one in found].index(Verdict.UNASKABLE) == 3
    assert len(found) == COUNT


def test_append_on_full_disk_names_place_and_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = files.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(files.shutil, "disk_usage", lambda _: usage._replace(free=0))
    outcome = Outcome(FactKey("s", "f"), Verdict.RIGHT, "P1")
    with OutcomeStore(tmp_path) as store:
        monkeypatch.setattr(store, "_file", FullDisk())
        with pytest.raises(KgprobeError, match=f"The disk under {tmp_path} is full .* free some space and continue"):
            store.append([0], [outcome])
        with pytest.raises(KgprobeError, match="is full"):
            store.__exit__()
        monkeypatch.undo()


class FullDisk:
    """A file on a full disk."""

    def write(self, content: bytes) -> None:
        """Keep the content in a buffer."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    close = flush
