"""Win and zero-sense rates of stored results against their definition, read again from the stored lines."""

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from tests.models.api.fault_proxy import FaultProxy


def naive_rates(folder: Path, facts: set[str] | None = None) -> tuple[int, float, float]:
    """Return the number of facts, the win rate and the zero-sense rate from the stored lines."""
    answers: defaultdict[str, list[bool]] = defaultdict(list)
    for line in (folder / "outcomes.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["verdict"] not in ("unaskable", "unanswered") and (facts is None or row["fact"] in facts):
            answers[row["fact"]].append(row["verdict"] == "right")
    wins = sum(own.count(True) > own.count(False) for own in answers.values())
    return len(answers), wins / len(answers), sum(not any(own) for own in answers.values()) / len(answers)


def says(text: str) -> Callable[[str], str]:
    return lambda _: text


@pytest.fixture(scope="module")
def measured(example_graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Measurements of two models that always say the same, and a run in rounds, by name."""
    folders: dict[str, Path] = {"home": tmp_path_factory.mktemp("home")}
    options: dict[str, Any] = {"follow_ups": 0, "relations": ["P36"], "as_of": 20240101}
    with (
        FaultProxy(upstream=says("Yes.")) as yes,
        FaultProxy(upstream=says("No.")) as no,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("KGPROBE_HOME", str(folders["home"]))
        models = {"yes": f"openai:yes@{yes.url}", "no": f"openai:no@{no.url}", "other": f"openai:other@{no.url}"}
        for name, limit in (("yes-easy", 20), ("yes-hard", 15), ("no-easy", 20), ("other-easy", 6)):
            model, _, difficulty = name.partition("-")
            given = {"limit": limit, "difficulty": difficulty, "name": name}
            made = kgprobe.measure(example_graph, models[model], "questions", **given, **options)
            folders[name] = made.folder
        given = {"rounds": 3, "facts_per_round": 5, "difficulty": "easy", "sampling": "uniform", "view": False}
        run = kgprobe.run_rounds(example_graph, models["yes"], "questions", name="rated", **given, **options)
        run.page()
        folders["rated"] = run.folder
    return folders


@pytest.fixture
def stored(measured: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The same, in the folder in which names are looked up."""
    monkeypatch.setenv("KGPROBE_HOME", str(measured["home"]))
    return measured


def cells_of(table: Any) -> dict[tuple[str, str, str], Any]:
    return {(cell.model, cell.graph, cell.setting): cell for cell in table.cells}


def test_rate_table_equals_naive_rates(stored: dict[str, Path]) -> None:
    names = ["yes-easy", "yes-hard", "no-easy", "rated"]
    table = kgprobe.rate_table([stored[name] for name in names], graphs=["world", "world", "world", "rounds"])
    cells = cells_of(table)
    places = [("yes", "world", "EASY"), ("yes", "world", "HARD"), ("no", "world", "EASY"), ("yes", "rounds", "EASY")]
    for name, place in zip(names, places, strict=True):
        cell = cells[place]
        assert (cell.facts, cell.win_rate.value, cell.zero_sense_rate.value) == naive_rates(stored[name])
        assert cell.result == ("rated" if name == "rated" else stored[name].name)
    # The second model lacks two of three columns.
    assert {place for place, cell in cells.items() if cell.result is None} == {
        ("no", "world", "HARD"),
        ("no", "rounds", "EASY"),
    }
    wins, zeros = table.tables()
    assert wins.columns == ["model", "world EASY", "world HARD", "rounds EASY", "average"]
    complete, incomplete = wins.rows
    rates = [cells[place].win_rate.value for place in (places[0], places[1], places[3])]
    assert complete["average"].value == pytest.approx(sum(rates) / 3)
    assert (incomplete["model"], incomplete["world HARD"], incomplete["average"]) == ("no", None, None)
    assert "Not given, shown as —: no on world HARD; no on rounds EASY." in wins.notes[1]
    assert zeros.rows[0]["world EASY"] == cells[places[0]].zero_sense_rate
    assert table.notes == []


def test_rate_table_shared_uses_common_facts(stored: dict[str, Path]) -> None:
    names = ["other-easy", "yes-easy"]
    table = kgprobe.rate_table([stored[name] for name in names], graphs=["g", "g"], shared=True)
    lines = (stored["other-easy"] / "outcomes.jsonl").read_text().splitlines()
    facts = {json.loads(line)["fact"] for line in lines}
    for cell, name in zip(sorted(table.cells, key=lambda cell: cell.model), names, strict=True):
        assert (cell.facts, cell.win_rate.value, cell.zero_sense_rate.value) == naive_rates(stored[name], facts)
    # Own facts of the second differ from the shared ones.
    assert cells_of(kgprobe.rate_table([stored["yes-easy"]], graphs=["g"]))["yes", "g", "EASY"].facts == 20


@pytest.mark.usefixtures("stored")
def test_rate_table_by_names_and_files() -> None:
    table = kgprobe.rate_table(["yes-easy", "rated"], graphs=["a", "b"])
    assert [cell.result for cell in table.cells] == ["yes-easy", "rated"]
    # Both results are of one graph, and so of one cell.
    with pytest.raises(ArgumentError, match=r"has two results of yes on graph .*, EASY: yes-easy and rated-"):
        kgprobe.rate_table(["yes-easy", "rated"])
    page = table.page()
    assert "Zero-sense rate" in page.read_text()
    assert (page.parent / "win_rates.csv").read_text().startswith("model,a EASY,a EASY_low,a EASY_high,b EASY")
    assert json.loads((page.parent / "rates.json").read_text())["cells"] == table.rows()


def test_rate_table_faults_are_named(stored: dict[str, Path]) -> None:
    with pytest.raises(KgprobeError, match="No result 'nothing'"):
        kgprobe.rate_table(["nothing"])
    with pytest.raises(ArgumentError, match="1 names for 2 results"):
        kgprobe.rate_table(["yes-easy", "no-easy"], graphs=["a"])
    with pytest.raises(ArgumentError, match="is empty"):
        kgprobe.rate_table([])
    twin = home() / "runs" / "rated-00000000"
    twin.mkdir()
    try:
        (twin / "outcomes.jsonl").write_bytes((stored["rated"] / "outcomes.jsonl").read_bytes())
        with pytest.raises(KgprobeError, match=r"Several results are named 'rated'"):
            kgprobe.rate_table(["rated"])
        with pytest.raises(KgprobeError, match=r"has no results.json; `kgprobe rounds show"):
            kgprobe.rate_table([twin])
    finally:
        (twin / "outcomes.jsonl").unlink()
        twin.rmdir()
