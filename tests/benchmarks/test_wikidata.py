"""The benchmark of the Wikidata reader: its input is as it says, and both readers make the same of it."""

from pathlib import Path

import pytest

from benchmarks import wikidata


@pytest.mark.parametrize("made_up", [False, True])
def test_both_readers_agree_on_usual_entities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_up: bool) -> None:
    if made_up:
        monkeypatch.setattr(wikidata, "REAL", tmp_path / "absent.json")
    elif not wikidata.REAL.exists():
        pytest.skip(f"{wikidata.REAL} is not here")
    rows = wikidata.measure(tmp_path, count=60, repeats=1, seed=1, kinds=["plain", "gz"])
    compared = [row for row in rows if row.peer is not None]
    assert {row.case for row in compared} == {"plain, entities", "plain, facts", "gz, entities", "gz, facts"}
    assert all(row.max_difference == 0 and row.peer_value for row in compared)


@pytest.mark.parametrize("made_up", [False, True])
def test_usual_entities_have_usual_size_and_are_seeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_up: bool
) -> None:
    if made_up:
        monkeypatch.setattr(wikidata, "REAL", tmp_path / "absent.json")
    elif not wikidata.REAL.exists():
        pytest.skip(f"{wikidata.REAL} is not here")
    entities = list(wikidata.usual_entities(400, seed=0))
    assert entities == list(wikidata.usual_entities(400, seed=0))
    assert entities != list(wikidata.usual_entities(400, seed=1))
    assert 11_000 < sum(map(len, entities)) / len(entities) < 15_500
