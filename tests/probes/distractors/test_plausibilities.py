"""The table of every plausibility, read back."""

import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.probes.distractors import evidence as module
from kgprobe.probes.distractors.evidence import SCHEMA, DistractorEvidence
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.sampling.keys import FactKey
from tests.probes.distractors.written import distractor_evidence

SENTENCES = [[-1.0, -2.0, -math.inf], [-3.0, -0.5]]
open_table = DistractorEvidence.exports()["plausibilities.parquet"]
OUTCOMES = [
    Outcome(FactKey("s", "f"), Verdict.WRONG, "P36", "prompt 1", evidence=distractor_evidence(SENTENCES, shown=1)),
    unaskable(FactKey("t", "g"), "P36", "it has no name"),
]


@pytest.mark.parametrize("rows_at_once", [1, 50_000])
def test_one_row_for_each_entity_after_each_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", rows_at_once)
    with open_table(tmp_path / "table.parquet") as add:
        for outcome in OUTCOMES:
            add(outcome)
    table = pq.read_table(tmp_path / "table.parquet")
    assert table.schema == SCHEMA
    rows = table.to_pylist()
    assert [(row["sentence"], row["rank"], row["entity"], row["log_plausibility"]) for row in rows] == [
        (0, 0, "o", -1.0),
        (0, 1, "r0", -2.0),
        (0, 2, "r1", -math.inf),
        (1, 0, "o", -3.0),
        (1, 1, "r0", -0.5),
        (None, None, None, None),
    ]
    assert rows[1] == {
        "subject": "s",
        "fact": "f",
        "relation": "P36",
        "verdict": "wrong",
        "reason": None,
        "sentence": 0,
        "prompt": "prompt 0",
        "rank": 1,
        "entity": "r0",
        "label": "rival 0",
        "retrieved": "a city, like Tokyo",
        "log_plausibility": -2.0,
    }
    assert (rows[0]["label"], rows[0]["retrieved"]) == ("Tokyo", None)
    assert (rows[5]["verdict"], rows[5]["reason"], rows[5]["relation"]) == ("unaskable", "it has no name", "P36")
    assert [file.name for file in tmp_path.iterdir()] == ["table.parquet"]


def test_no_outcomes_are_an_empty_table(tmp_path: Path) -> None:
    with open_table(tmp_path / "table.parquet"):
        pass
    assert pq.read_table(tmp_path / "table.parquet").num_rows == 0


def test_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "table.parquet"
    with pytest.raises(KgprobeError, match=r"table\.parquet cannot be written"), open_table(missing):
        pass
