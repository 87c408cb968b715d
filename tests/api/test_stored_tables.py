"""Tables of stored results against their definition, read again from the stored lines."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.files import home
from kgprobe.beliefs.group_rates import SHOWN_GROUPS
from kgprobe.graph.client import Graph
from kgprobe.results.group_table import group_by_popularity
from kgprobe.results.measurement import Measurement, Run
from kgprobe.stats.value_counts import HEAD, TAIL, TORSO
from tests.cli.inprocess import run as cli
from tests.cli.inprocess import succeed
from tests.graph.servers.shared import environment_of
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


def cells_of(table: Any) -> dict[tuple[str, str], Any]:
    return {(cell.name, cell.column): cell for cell in table.cells}


@pytest.mark.parametrize("name", ["yes-easy", "no-easy", "rated"])
def test_listed_facts_equal_stored_lines(stored: dict[str, Path], example_graph: Graph, name: str) -> None:
    right, wrong, subjects = Counter[str](), Counter[str](), {}
    for line in (stored[name] / "outcomes.jsonl").read_text().splitlines():
        row = json.loads(line)
        counts = {"right": right, "wrong": wrong}.get(row["verdict"])
        if counts is not None:
            counts[row["fact"]] += 1
            subjects[row["fact"]] = row["subject"]
    opened = kgprobe.open(stored[name], example_graph)
    assert isinstance(opened, (Measurement, Run))
    for known in (True, False):
        listed = opened.facts(known=known)
        assert {row.fact for row in listed.facts} == {fact for fact in subjects if (right[fact] > wrong[fact]) is known}
        assert all((row.right, row.wrong) == (right[row.fact], wrong[row.fact]) for row in listed.facts)
        ends = [row.known.low if known else -row.known.high for row in listed.facts]
        assert ends == sorted(ends, reverse=True)
    (subject,) = {row.subject for row in opened.facts().facts if row.fact == min(subjects)}
    (label,) = {row.subject_label for row in opened.facts().facts if row.subject == subject}
    about = opened.facts(about=[label.upper()])
    assert {row.fact for row in about.facts} == {fact for fact in subjects if subjects[fact] == subject}
    with pytest.raises(UnknownNameError, match="Narnia"):
        opened.facts(about=["Narnia"])


def test_show_unknown_prints_rows_and_plain_csv(stored: dict[str, Path], example_graph: Graph, tmp_path: Path) -> None:
    where = {"KGPROBE_HOME": str(stored["home"]), **environment_of(example_graph.endpoint)}
    shown = succeed("show", "no-easy", "--unknown", "--csv", str(tmp_path / "facts.csv"), **where)
    unknown = kgprobe.open("no-easy", example_graph, kind="measurement").facts(known=False)
    assert unknown.summary() in shown.stdout
    assert "0 of 1" in shown.stdout
    assert [
        json.loads(line) for line in succeed("show", "no-easy", "--unknown", "--json", **where).stdout.splitlines()
    ] == unknown.rows()
    frame = pd.read_csv(tmp_path / "facts.csv")
    assert list(frame["fact"]) == [row.fact for row in unknown.facts]
    assert not frame.map(lambda cell: isinstance(cell, str) and cell[:1] in "[{").any(axis=None)
    for wrong, fault in (
        (["no-easy", "yes-easy", "--csv", "x.csv"], "one NAME"),
        (["no-easy", "--unknown", "--by", "year"], "without groups"),
        (["no-easy", "--unknown", "--open"], "leave out"),
    ):
        refused = cli("show", *wrong, **where)
        assert (refused.returncode, fault in " ".join(refused.stderr.split())) == (2, True), refused.stderr


def test_rate_table_equals_naive_rates(stored: dict[str, Path]) -> None:
    names = ["yes-easy", "yes-hard", "no-easy", "rated"]
    table = kgprobe.rate_table([stored[name] for name in names], graphs=["world", "world", "world", "rounds"])
    cells = cells_of(table)
    places = [("yes", "world EASY"), ("yes", "world HARD"), ("no", "world EASY"), ("yes", "rounds EASY")]
    for name, place in zip(names, places, strict=True):
        cell = cells[place]
        assert (cell.facts, cell.win_rate.value, cell.zero_sense_rate.value) == naive_rates(stored[name])
        assert cell.result == ("rated" if name == "rated" else stored[name].name)
    # The second model lacks two of three columns.
    assert {place for place, cell in cells.items() if cell.result is None} == {
        ("no", "world HARD"),
        ("no", "rounds EASY"),
    }
    wins, zeros = table.tables()
    assert wins.columns == ["model", "world EASY", "world HARD", "rounds EASY", "average"]
    complete, incomplete = wins.rows
    rates = [cells[place].win_rate.value for place in (places[0], places[1], places[3])]
    assert complete["average"].value == pytest.approx(sum(rates) / 3)
    assert (incomplete["model"], incomplete["world HARD"], incomplete["average"]) == ("no", None, None)
    assert "Not given, shown as —: no on world HARD; no on rounds EASY." in wins.notes[0]
    assert zeros.rows[0]["world EASY"] == cells[places[0]].zero_sense_rate
    assert table.notes == []


def test_rate_table_shared_uses_common_facts(stored: dict[str, Path]) -> None:
    names = ["other-easy", "yes-easy"]
    table = kgprobe.rate_table([stored[name] for name in names], graphs=["g", "g"], shared=True)
    lines = (stored["other-easy"] / "outcomes.jsonl").read_text().splitlines()
    facts = {json.loads(line)["fact"] for line in lines}
    for cell, name in zip(sorted(table.cells, key=lambda cell: cell.name), names, strict=True):
        assert (cell.facts, cell.win_rate.value, cell.zero_sense_rate.value) == naive_rates(stored[name], facts)
    # Own facts of the second differ from the shared ones.
    assert cells_of(kgprobe.rate_table([stored["yes-easy"]], graphs=["g"]))["yes", "g EASY"].facts == 20


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
    with pytest.raises(KgprobeError, match="No measurement or run is named 'nothing'"):
        kgprobe.rate_table(["nothing"])
    with pytest.raises(ArgumentError, match="1 names for 2 results"):
        kgprobe.rate_table(["yes-easy", "no-easy"], graphs=["a"])
    with pytest.raises(ArgumentError, match="is empty"):
        kgprobe.rate_table([])
    twin = home() / "runs" / "rated-00000000"
    twin.mkdir()
    try:
        (twin / "outcomes.jsonl").write_bytes((stored["rated"] / "outcomes.jsonl").read_bytes())
        with pytest.raises(KgprobeError, match=r"is 'rated', a run of several graphs"):
            kgprobe.rate_table(["rated"])
        with pytest.raises(KgprobeError, match=r"has no results.json; `kgprobe show"):
            kgprobe.rate_table([twin])
    finally:
        (twin / "outcomes.jsonl").unlink()
        twin.rmdir()


def group_facts(graph: Graph) -> dict[str, tuple[str, str]]:
    rows = graph.query("MATCH (s:Entity)-[f:FACT]->(o:Entity) RETURN f.id AS fact, s.id AS subject, o.id AS object")
    return {row["fact"]: (row["subject"], row["object"]) for row in rows}


def asked_facts(folders: list[Path]) -> set[str]:
    lines = [line for folder in folders for line in (folder / "outcomes.jsonl").read_text().splitlines()]
    return {json.loads(line)["fact"] for line in lines}


def assert_cells_are_naive(table: Any, members: dict[str, set[str]], folders: dict[str, Path]) -> None:
    for cell in table.cells:
        folder = folders[cell.column]
        facts = members[cell.group] & asked_facts([folder])
        if not facts:
            assert (cell.facts, cell.win_rate, cell.zero_sense_rate) == (0, None, None)
        else:
            rates = (cell.facts, cell.win_rate.value, cell.zero_sense_rate.value)
            assert rates == naive_rates(folder, facts)


@pytest.mark.parametrize("limit", [None, 5])
def test_group_table_has_all_groups_or_counts_them(
    stored: dict[str, Path], example_graph: Graph, limit: int | None
) -> None:
    folders = {name: stored[name] for name in ("yes-hard", "other-easy")}
    ends = group_facts(example_graph)
    members: dict[str, set[str]] = defaultdict(set)
    for fact in asked_facts(list(folders.values())):
        for end in ends[fact]:
            members[end].add(fact)
    results = [kgprobe.open(folder, example_graph) for folder in folders.values()]
    table = kgprobe.group_table(example_graph, results, limit=limit)
    # More groups than a page of results shows.
    assert len(members) > SHOWN_GROUPS
    assert len(table.sizes) == (limit or len(members))
    assert table.sizes == {group: len(members[group]) for group in table.sizes}
    assert list(table.sizes.values()) == sorted(table.sizes.values(), reverse=True)
    assert_cells_are_naive(table, members, folders)
    notes = table.tables()[0].notes
    assert any("more with as many facts or fewer (limit 5)" in note for note in notes) == (limit is not None)


def test_group_table_by_object_of_a_relation(stored: dict[str, Path], example_graph: Graph) -> None:
    ends = group_facts(example_graph)
    query = "MATCH (s:Entity)-[f:FACT]->(o:Entity) WHERE f.relation = 'P30' RETURN s.id AS subject, o.id AS object"
    continents: dict[str, set[str]] = defaultdict(set)
    for row in example_graph.query(query):
        continents[row["subject"]].add(row["object"])
    members: dict[str, set[str]] = defaultdict(set)
    for fact in asked_facts([stored["yes-easy"]]):
        for continent in continents[ends[fact][0]]:
            members[continent].add(fact)
    result = kgprobe.open(stored["yes-easy"], example_graph)
    table = kgprobe.group_table(example_graph, [result], object_of="continent")
    assert table.sizes == {group: len(facts) for group, facts in members.items()}
    assert_cells_are_naive(table, members, {"yes-easy": stored["yes-easy"]})


def test_group_table_by_centers_and_years(stored: dict[str, Path], example_graph: Graph) -> None:
    ends = group_facts(example_graph)
    facts = asked_facts([stored["yes-easy"]])
    subject = sorted(ends[fact][0] for fact in facts)[0]
    result = kgprobe.open(stored["yes-easy"], example_graph)
    chosen = kgprobe.group_table(example_graph, [result], centers=["Q46", subject])
    # Europe is asked about in no fact, and listed all the same.
    members = {entity: {fact for fact in facts if entity in ends[fact]} for entity in ("Q46", subject)}
    assert list(chosen.sizes.items()) == [(entity, len(own)) for entity, own in members.items()]
    assert_cells_are_naive(chosen, members, {"yes-easy": stored["yes-easy"]})
    rows = example_graph.query("MATCH ()-[f:FACT]->() WHERE f.start IS NOT NULL RETURN f.id AS fact, f.start AS start")
    years: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["fact"] in facts:
            years[row["start"][:4]].add(row["fact"])
    dated = kgprobe.group_table(example_graph, [result], by="year", year_relation="start")
    assert dated.sizes == {year: len(years[year]) for year in sorted(years)}
    assert dated.notes[0].startswith("Year: start of the fact; ")
    with pytest.raises(ArgumentError, match="excludes `centers`"):
        kgprobe.group_table(example_graph, [result], centers=["Q46"], object_of="P30")
    with pytest.raises(ArgumentError, match="`by` excludes `centers` and `object_of`"):
        kgprobe.group_table(example_graph, [result], centers=["Q46"], by="type")
    with pytest.raises(ArgumentError, match="by"):
        kgprobe.group_table(example_graph, [result], by="colour")


def test_group_table_of_relations_at_centers_is_a_dotted_map(
    stored: dict[str, Path], example_graph: Graph, tmp_path: Path
) -> None:
    ends = group_facts(example_graph)
    folder = stored["yes-easy"]
    facts = asked_facts([folder])
    centers = [*sorted({end for fact in facts for end in ends[fact][:2]})[:3], "Q46"]
    result = kgprobe.open(folder, example_graph)
    table = kgprobe.group_table(example_graph, [result], by="relation", centers=centers)
    at = [{fact for fact in facts if center in ends[fact][:2]} for center in centers]
    assert table.sizes == {"P36": len(set.union(*at))}
    for cell, members in zip(table.cells, at, strict=True):
        assert (cell.group, cell.facts) == ("P36", len(members))
        if members:
            assert (cell.facts, cell.win_rate.value, cell.zero_sense_rate.value) == naive_rates(folder, members)
    (dotted,) = table.plots
    # Europe is in no asked fact, and has a column all the same.
    assert (len(dotted.entities), len(dotted.dots)) == (4, 3)
    assert [(dot.facts, dot.share) for dot in dotted.dots] == [(len(members), 1.0) for members in at[:3]]
    assert "Relations at entities" in table.page(tmp_path).read_text()
    assert f"1 group by relation, at {len(centers)} centers." in table.summary()
    other = kgprobe.open(stored["other-easy"], example_graph)
    with pytest.raises(ArgumentError, match="`results` has 2 results; relations at `centers` are those of one result"):
        kgprobe.group_table(example_graph, [result, other], by="relation", centers=centers)


def test_group_by_popularity_divides_known_facts_into_thirds() -> None:
    popularity = [None, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0]
    facts = pd.DataFrame({"fact": [f"f{place}" for place in range(7)], "popularity": popularity})
    grouped = group_by_popularity(facts)
    assert [grouped.groups[f"f{place}"] for place in range(1, 7)] == [[HEAD], [HEAD], [TORSO], [TORSO], [TAIL], [TAIL]]
    assert (list(grouped.order), "f0" in grouped.groups) == ([HEAD, TORSO, TAIL], False)


def test_show_prints_and_writes_tables_of_rates(stored: dict[str, Path], example_graph: Graph) -> None:
    where = {"KGPROBE_HOME": str(stored["home"]), **environment_of(example_graph.endpoint), "COLUMNS": "160"}
    shown = succeed("show", "world=yes-easy", "world=no-easy", "--shared", **where)
    assert "world EASY" in shown.stdout
    assert "zero_sense_rates.csv" in shown.stdout
    found = json.loads(cli("show", "yes-easy", "--by", "relation", "--json", **where).stdout)
    assert (found["by"], [cell["group"] for cell in found["cells"]]) == ("relation", ["P36"])
    wrong = cli("show", "yes-easy", "--center", "Nowhere at all", **where)
    assert wrong.returncode == 2
    assert "Nowhere at all" in wrong.stderr
