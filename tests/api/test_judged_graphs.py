"""The figures of a judged graph by one call: complete or not, with labels or without, with labels that do not fit."""

import json
from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.judge.judged_shards import shard_path
from kgprobe.judge.labels import set_aside
from kgprobe.sampling.selection import SEEDED_ORDER
from tests.judge.judged_files import JUDGE, judged, said, write_judged_graph, write_labels
from tests.results.rendering.page_numbers import apart, judged_numbers

FACTS = 400


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("KGPROBE_HOME", str(home))
    rows = [
        judged(f"f{n}", n % 3 % 2, [1], subject_types=[f"t{n % 7}"], subject_popularity=float(n % 11))
        for n in range(FACTS)
    ]
    write_judged_graph(home / "judged" / "everything", rows, shards=4)
    write_labels(home / "probes" / "labelled", [said(f"f{n}", n % 2, [n % 5 % 3]) for n in range(0, FACTS, 2)])
    return home


def corrected_by(name: str) -> Any:
    return kgprobe.open("everything").corrected_by(kgprobe.open(name, kind="measurement"))


def raw_of(result: Any) -> dict[str, float]:
    return {row["metric"]: row["raw"] for row in result.rows() if row["by"] == "all"}


def test_judges_own_labels_correct_it_by_facts_set_aside() -> None:
    result = kgprobe.open("everything")
    facts = [f"f{n}" for n in range(0, FACTS, 2)]
    aside = int(set_aside(facts, JUDGE["aside"], JUDGE["seed"]).sum())
    assert result.correction.used == aside
    assert result.correction.asked == len(facts)
    row = result.rows()[0]
    assert (row["metric"], row["facts"], row["measured"], row["labelled"]) == ("correct", FACTS, FACTS, aside)
    assert row["raw"] == pytest.approx(sum(n % 3 % 2 == 0 for n in range(FACTS)) / FACTS)
    assert row["low"] < row["estimate"] < row["high"]
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["complete"]
    assert told["figures"] == result.rows()
    assert told["labels"]["left_out"] == {"the judge has learned from it": len(facts) - aside}
    assert f"by the judge alone {row['raw']:.3f}" in result.summary()
    assert [table.key for table in result.tables()] == [
        *("overall", "relations", "subject_types", "object_types"),
        *("relation_types", "head_types", "tail_types", "type_pairs"),
        *("thirds", "correlations", "pearson", "judgements", "left_out"),
    ]
    tables = {table.key: table.rows for table in result.tables()}
    (types,) = tables["relation_types"]
    pair = f"{types['type of subject']} → {types['type of object']}"
    assert tables["type_pairs"][0]["head and tail type"] == pair
    # All facts are of one relation.
    assert tables["type_pairs"][0]["correct"] == row["raw"]
    metrics = {cells["of"]: cells for cells in tables["pearson"]}
    assert metrics["correct"]["informative"] == metrics["informative"]["correct"]
    assert told["pearson"][0]["first"] == "correct"
    assert len(result.to_frame()) == len(result)


def test_page_of_a_judged_graph_shows_one_number_for_one_thing() -> None:
    report = kgprobe.make_report([kgprobe.open("everything")])
    path = report.page()
    page, stored = path.read_text(encoding="utf-8"), kgprobe.open(path.parent, kind="report")
    assert (stored.page(), stored.summary(), stored.config) == (path, report.summary(), report.config)
    assert stored.page(path.parent / "copy").read_text(encoding="utf-8") == page
    path.unlink()
    with pytest.raises(KgprobeError, match=r"report\.html does not exist\. Repeat"):
        stored.page()
    assert apart(judged_numbers(page)) == {}
    changes = {"judge correct": "0.667", "judge facts": "400", "corrected facts": "50", "corrected truthful": "0.5"}
    for meaning, text in changes.items():
        assert judged_numbers(page)[meaning][0].startswith(text)
        assert meaning in apart(judged_numbers(page.replace(f">{text}", ">0", 1))), meaning


def test_labels_not_learned_from_all_count(own: Path) -> None:
    write_labels(own / "probes" / "more", [said(f"f{n}", 0, [1]) for n in range(0, FACTS, 4)])
    learned = [f"f{n}" for n in range(0, FACTS, 4)]
    aside = int(set_aside(learned, JUDGE["aside"], JUDGE["seed"]).sum())
    assert corrected_by("more").correction.used == aside
    write_labels(own / "probes" / "fresh", [said(f"f{n}", 0, [1]) for n in range(1, FACTS, 4)])
    assert corrected_by("fresh").correction.used == FACTS // 4
    (own / "probes" / "labelled").rename(own / "probes" / "gone")
    unknown = corrected_by("more")
    assert unknown.correction.used == FACTS // 4
    assert "make its figures too good" in unknown.notes[0]


def test_without_labels_figures_are_the_judges_own(own: Path) -> None:
    corrected = kgprobe.open("everything")
    (own / "probes" / "labelled").rename(own / "probes" / "gone")
    bare = kgprobe.open("everything")
    assert raw_of(corrected) == raw_of(bare)
    assert bare.correction is None
    assert "not corrected by labels" in bare.notes[0]
    assert bare.to_dict()["labels"] is None
    assert {row["estimate"] for row in bare.rows()} == {None}


def test_part_of_a_graph_is_not_taken_for_the_graph(own: Path) -> None:
    shard_path(own / "judged" / "everything", 2).unlink()
    result = kgprobe.open("everything")
    assert (result.missing, result.correction) == ([2], None)
    assert "estimates for the graph are not possible" in result.notes[0]
    assert "300 facts of 400 (1 shards are missing)" in result.summary()
    assert result.to_dict()["complete"] is False
    # What is there is told, by what is there alone.
    there = [n for n in range(FACTS) if not 200 <= n < 300]
    assert raw_of(result)["correct"] == pytest.approx(sum(n % 3 % 2 == 0 for n in there) / len(there))


def test_judged_graph_tables_show_twenty_types(own: Path) -> None:
    rows = [judged(f"f{n}", 0, [1], subject_types=[f"t{n % 27}"]) for n in range(FACTS)]
    write_judged_graph(own / "judged" / "typed", rows)
    result = kgprobe.open("typed")
    table = next(table for table in result.tables() if table.key == "subject_types")
    assert len(table.rows) == 20
    assert table.notes == ["7 more are in the rows and in JSON."]
    assert len({row["group"] for row in result.rows() if row["by"] == "subject type"}) == 27


def test_regrouped_means_are_over_relations_of_a_vocabulary(own: Path) -> None:
    # Of the first relation, 30 facts are judged right; of the second, 10 wrong. Of the last, no type is of schema.org.
    types = {"r0": ["dbo:Town", "schema:City"], "r1": ["schema:City"], "r2": ["dbo:Town"]}
    rows = [judged(f"f{n}", 0, [1], relation="r0", subject_types=types["r0"]) for n in range(30)]
    rows += [judged(f"g{n}", 1, [1], relation="r1", subject_types=types["r1"]) for n in range(10)]
    rows += [judged(f"h{n}", 0, [1], relation="r2", subject_types=types["r2"]) for n in range(10)]
    write_judged_graph(own / "judged" / "typed", rows)
    plain = kgprobe.open("typed")
    # Both types of the first relation are as frequent in it, and over all relations.
    assert {each.relation: each.head for each in plain.graph.relation_types} == {
        "r0": "dbo:Town",
        "r1": "schema:City",
        "r2": "dbo:Town",
    }
    regrouped = plain.regrouped(types_of="schema", mean_over="relations")
    table = next(table for table in regrouped.tables() if table.key == "head_types")
    cities, others = table.rows
    # The facts are not informative where no answer is: all are. A wrong fact is neither correct nor truthful.
    assert {name: cities[name] for name in ("head type", "relations", "correct", "truthful", "informative")} == {
        "head type": "schema:City",
        "relations": 2,
        "correct": 0.5,
        "truthful": 0.5,
        "informative": 1.0,
    }
    assert cities["average"] == pytest.approx(2 / 3)
    assert (others["head type"], others["relations"]) == ("(no type)", 1)
    over_facts = plain.regrouped(types_of="schema")
    table = next(table for table in over_facts.tables() if table.key == "head_types")
    assert (table.rows[0]["facts"], table.rows[0]["correct"]) == (40, 0.75)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"graph": "another"}, "have the graph another"),
        ({"relations": ["r1"]}, "none of the relations r0"),
        ({"as_of": 20240101}, "have the date 20240101"),
        ({"options": {"replace": "subject", "any_type": False}}, "negatives with another subject"),
        ({"options": {"replace": "object", "any_type": True}}, "any type True"),
        ({"described": {"model": "other"}}, "the answers of other"),
        ({"facts": {"limit": None, "count": 3, "sha256": "ab"}}, "a list of facts"),
        ({"facts": {"limit": 150}}, "in the order of their ids"),
    ],
)
@pytest.mark.representatives(2)
def test_labels_of_something_else_are_refused(own: Path, config: dict[str, Any], message: str) -> None:
    write_labels(own / "probes" / "odd", [said(f"f{n}", 0, [1]) for n in range(100)], **config)
    with pytest.raises(ArgumentError, match=message):
        corrected_by("odd")


def test_labels_of_many_relations_sample_the_judged_ones(own: Path) -> None:
    write_labels(own / "probes" / "wide", [said(f"f{n}", 0, [1]) for n in range(1, 101, 2)], relations=["r0", "r1"])
    assert corrected_by("wide").correction.used == 50


def test_labels_ended_early_are_a_sample(own: Path) -> None:
    labels = [said(f"f{n}", 0, [1]) for n in range(1, 101, 2)]
    write_labels(own / "probes" / "early", labels, facts={"limit": 150, "order": SEEDED_ORDER})
    assert corrected_by("early").correction.used == 50


def test_where_the_judges_own_labels_do_not_fit_it_is_said(own: Path) -> None:
    config = own / "probes" / "labelled" / "config.json"
    config.write_text(config.read_text().replace("20250101", "20240101"))
    result = kgprobe.open("everything")
    assert result.correction is None
    assert "have the date 20240101" in result.notes[0]
    with pytest.raises(ArgumentError, match="have the date 20240101"):
        corrected_by("labelled")


def test_what_cannot_be_is_told(own: Path) -> None:
    folder = own / "judged" / "everything"
    shard_path(folder, 1).write_bytes(shard_path(folder, 0).read_bytes()[:100])
    with pytest.raises(KgprobeError, match="cannot be read"):
        kgprobe.open("everything")
    write_judged_graph(folder, [judged("f", 0, [1])], facts=5)
    with pytest.raises(KgprobeError, match="has 1 facts; expected 5"):
        kgprobe.open("everything")
