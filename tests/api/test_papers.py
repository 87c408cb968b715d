"""``kgprobe.paper`` and ``paper_options``: published numbers, and stored results next to them."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import UnknownNameError
from tests.judge.judged_files import judged, said, write_judged_graph, write_labels


def write_json(folder: Path, name: str, content: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    (folder / name).write_text(json.dumps(content))


def write_study(home: Path, name: str, **rows: list[dict[str, Any]]) -> None:
    content = {"name": name, "title": f"{name} · demo", "verdict": "It agrees.", "notes": [], **rows}
    write_json(home / "studies" / f"{name}-0123abcd", "study.json", content)


def write_run(home: Path, name: str, difficulty: str, probe: str = "questions") -> None:
    group = {"facts": 4, "win_rate": 0.5}
    groups = [
        {"by": "all", "name": "all", **group, "zero_sense_rate": 0.5},
        {"by": "year", "name": "2015", **group, "zero_sense_rate": 0.25},
        {"by": "year", "name": "1999", **group, "zero_sense_rate": 0.75},
        {"by": "year", "name": "2001", **group, "zero_sense_rate": None},
    ]
    content = {
        "name": name,
        "model": "demo",
        "probe": probe,
        "headline": "2 of 4 known",
        "config": {"difficulty": difficulty},
        "win_rate": 0.5,
        "zero_sense_rate": 0.375,
        "groups": groups,
    }
    write_json(home / "runs" / f"{name}-0123abcd", "results.json", content)


def test_papers_counts_tables_by_state() -> None:
    papers = kgprobe.paper()
    assert [paper.name for paper in papers.papers] == ["distractors", "kglens", "latent-knowledge", "grapheval"]
    for paper in papers.papers:
        assert paper.results == paper.runs + paper.partly + paper.no
        assert paper.numbers > 100
    assert papers.rows()[0]["numbers"] == papers.papers[0].numbers
    assert papers.to_dict()["papers"] == papers.rows()
    assert "70 tables and figures" in papers.summary()


def test_paper_lists_tables_with_commands_for_the_model() -> None:
    contents = kgprobe.paper("distractors", model="hf:gpt2", other_model="hf:gpt2-xl")
    rows = {row["table"]: row for row in contents.rows()}
    assert list(rows) == [f"table-{n}" for n in range(1, 10)] + [f"figure-{n}" for n in range(1, 9)]
    assert "--model hf:gpt2 --model hf:gpt2-xl " in rows["figure-5"]["command"]
    assert rows["table-1"]["command"] == rows["table-1"]["state"] == ""
    assert list(contents.to_frame()["table"]) == list(rows)
    assert "COLING 2025" in contents.summary()


def test_table_has_rows_columns_and_notes() -> None:
    table = kgprobe.paper("distractors", "table-3")
    (shown,) = table.tables()
    rows = {row[""]: row for row in shown.rows}
    assert rows["probability"] == {
        "": "probability",
        "mean τ (Kendall's τ)": "0.262",
        "std τ (Kendall's τ)": "0.047",
    }
    (note,) = shown.notes
    assert note.startswith("KaRR: ")
    assert table.numbers[0].number == 0.104
    assert not table.own
    assert not table.results
    assert "retired" in table.summary()


def test_figure_without_numbers_has_its_trend() -> None:
    figure = kgprobe.paper("latent-knowledge", "figure-7")
    assert figure.tables() == []
    assert "fine-tuned models have lower accuracy" in figure.summary()
    assert figure.numbers[0].number is None


def test_stored_study_is_next_to_the_published_numbers(home: Path) -> None:
    row = {"measure": "distractors:approximate-optimal", "tau": 0.12345, "deviation": 0.1}
    row |= {"own_tau": 0.25, "own_deviation": 0.05}
    unranked = row | {"measure": "mine", "tau": None, "deviation": None, "own_facts": 12}
    write_study(home, "calibration", table=[row, unranked])
    tau = {"tau": 0.4321, "tau_low": 0.1, "tau_high": 0.7, "pairs": 12, "sentences": 30}
    averaged = {"measure": "distractors:random", "options": "aggregation = avg, n = 5", "tau": 0.5}
    write_study(home, "robustness", table=[{"measure": "rouge-l", "options": "beams = 1", **tau}, averaged])
    table = kgprobe.paper("distractors", "table-3")
    shown, results, differing = table.tables()
    rows = {row[""]: row for row in shown.rows}
    named = {"own facts": ("0.25", "0.25; 12 facts"), "shared facts": ("0.123", None)}
    for facts, values in named.items():
        column = f"mean τ: {facts}, calibration-0123abcd (not the paper's settings)"
        assert (rows["distractors, approximate optimal"][column], rows["mine"][column]) == values
        assert rows["probability"][column] is None
    assert rows["distractors, approximate optimal"]["mean τ (Kendall's τ)"] == "0.282"
    assert rows["mine"]["mean τ (Kendall's τ)"] is None
    # A study without settings: those of the preset and of the full command are not met.
    settings = {row["setting"]: (row["here"], row["paper"]) for row in differing.rows}
    assert settings["--karr"] == ("not stored", "authors")
    assert [row["name"] for row in results.rows] == ["calibration-0123abcd"]
    assert "calibration · demo: It agrees." in results.rows[0]["result"]
    assert [own["value"] for own in table.to_dict()["own"]][:4] == [0.25, 0.123, 0.05, 0.1]
    own, average = kgprobe.paper("distractors", "table-4").own
    assert (own.row, own.column, own.value) == ("ROUGE-L", "robustness", 0.43)
    assert str(own) == "0.43 [0.1, 0.7]; 12 pairs"
    assert average.row == "distractors, random, Avg@n"


def test_stored_runs_have_rates_by_difficulty_and_year(home: Path) -> None:
    write_run(home, "hard-one", "hard")
    write_run(home, "easy-one", "easy")
    write_run(home, "other", "hard", probe="distractors")
    wins = kgprobe.paper("kglens", "table-2")
    assert {(own.row, own.column, own.value) for own in wins.own} == {("demo", "HARD", 50.0), ("demo", "EASY", 50.0)}
    assert {own.value for own in kgprobe.paper("kglens", "table-3").own} == {37.5}
    by_year = kgprobe.paper("kglens", "figure-4")
    assert [(own.row, own.value) for own in by_year.own] == [("2015", 25.0), ("1999", 75.0)]
    (shown, results, _) = by_year.tables()
    assert {row["name"] for row in results.rows} == {"hard-one", "easy-one"}
    (row,) = (row for row in shown.rows if row[""] == "2015")
    assert row["gpt-4 (%)"] == "18.92"
    assert row["demo: demo, hard-one (not the paper's settings)"] == "25; 4 facts"


def test_own_numbers_are_marked_by_settings_of_preset(home: Path) -> None:
    # Those of the preset and of the full command, but for the number of facts.
    options = kgprobe.paper_options("latent-knowledge", "probe examples")
    settings = {"probe": "examples", "described": {"model": "demo"}, "dataset": {"name": "trex-mc"}, "relations": []}
    first = kgprobe.paper("latent-knowledge", "table-8").numbers[0].row
    settings |= {"seed": 0, "as_of": 20260101, "graph": "", "reversed": False}
    rates = {"win_rate": 0.5, "win_rate_low": 0.254, "win_rate_high": 0.746, "facts": 12}
    content = {
        "model": "demo",
        "probe": "examples",
        "headline": "",
        "facts_asked": 20_000,
        "groups": [{"by": "relation", "name": first, **rates}],
    }
    for name, limit, facts in (("whole", None, 20_000), ("small", 12, 20_000), ("mine", None, 12)):
        write_json(home / "probes" / name, "results.json", content | {"facts_asked": facts})
        stored = {**settings, "options": options, "facts": {"limit": limit}}
        stored["dataset"] = {"name": "mine" if name == "mine" else "trex-mc"}
        (home / "probes" / name / "config.json").write_text(json.dumps(stored))
    table = kgprobe.paper("latent-knowledge", "table-8")
    headings = {own.source: own.heading for own in table.own}
    assert headings["demo, whole"] == "average accuracy: demo, whole"
    assert headings["demo, small"] == "average accuracy: demo, small (not the paper's settings)"
    assert headings["demo, mine"] == "average accuracy: demo, mine (not the paper's settings)"
    assert {str(own) for own in table.own} == {"0.5 [0.254, 0.746]; 12 facts"}
    own_data = [(row.setting, row.here, row.paper) for row in table.differences if row.name == "mine"]
    assert sorted(own_data) == [("data set", "mine", "trex-mc"), ("facts", "12", "20000")]
    (difference,) = (row for row in table.differences if row.name != "mine")
    assert (difference.name, difference.setting, difference.here, difference.paper) == (
        "small",
        "--limit",
        "12",
        "none",
    )
    (home / "probes" / "whole" / "config.json").write_text(json.dumps(settings))
    assert {row.here for row in kgprobe.paper("latent-knowledge", "table-8").differences} == {
        "12",
        "mine",
        "deleted or damaged",
    }
    # In the terminal, in Python and in a notebook.
    for text in (repr(table), table._repr_html_()):
        assert "12 facts" in text
        assert "not the paper" in text
        assert "--limit" in text


@pytest.mark.parametrize(("clozes", "differing"), [(["hand", "mined"], []), (["hand"], [("hand", "hand, mined")])])
def test_study_of_prompts_is_compared_in_its_clozes(
    home: Path, clozes: list[str], differing: list[tuple[str, str]]
) -> None:
    exact = kgprobe.paper_options("latent-knowledge", "study prompting")
    write_study(home, "prompting", config={**exact, "clozes": clozes})  # type: ignore[arg-type]
    table = kgprobe.paper("latent-knowledge", "figure-3")
    assert [(row.here, row.paper) for row in table.differences if row.setting == "--clozes"] == differing


@pytest.mark.usefixtures("home")
def test_missing_graph_is_the_first_note() -> None:
    for shown in (kgprobe.paper("kglens"), kgprobe.paper("kglens", "table-2")):
        assert repr(shown).startswith("There is no graph for the small commands yet. First: `kgprobe load example`.")
    # It reads a file alone.
    assert not kgprobe.paper("distractors", "table-5").notes
    assert not kgprobe.paper("kglens", "table-2", graph="bolt://localhost:7687").notes


def test_comparison_has_the_subsumption_of_each_pair(home: Path) -> None:
    content = {
        "summary": "b knows more.",
        "labels": ["a", "b"],
        "facts": 7,
        "subsumption": [[1.0, 0.9], [0.7, 1.0]],
        "correlation": [[1.0, None], [None, 1.0]],
        "over_relations": {
            "models": [
                {"label": "a", "mean": 0.25, "deviation": 0.125},
                {"label": "b", "mean": 0.5, "deviation": None},
            ],
            "subsumption": [[1.0, 0.8], [0.6, 1.0]],
            "sizes": [{"smallest": "a", "smallest_accuracy": 0.25, "largest": "b", "largest_accuracy": 0.5}],
            "families": ["x", "y"],
            "family_correlation": [[None, 0.75], [0.75, 0.5]],
        },
    }
    write_json(home / "comparisons" / "0123", "comparison.json", content)
    (home / "comparisons" / "0123" / "comparison.html").touch()
    table = kgprobe.paper("latent-knowledge", "table-1")
    assert {(own.row, own.column): own.value for own in table.own} == {
        ("a in b", "η"): 0.8,
        ("b in a", "η"): 0.6,
        ("a in b", "accuracy of the smallest"): 0.25,
        ("a in b", "accuracy of the largest"): 0.5,
    }
    assert {own.facts for own in table.own} == {7}
    assert kgprobe.paper("latent-knowledge", "figure-14").own == []
    families = {own.row: own.value for own in kgprobe.paper("latent-knowledge", "figure-6").own}
    assert families == {"x and y": 0.75, "y and x": 0.75, "y and y": 0.5}
    spread = [(own.row, own.column, own.value) for own in kgprobe.paper("latent-knowledge", "table-7").own]
    assert spread == [
        ("a", "average accuracy", 0.25),
        ("a", "standard deviation", 0.125),
        ("b", "average accuracy", 0.5),
    ]


def test_annotated_errors_are_at_their_kinds_and_categories(home: Path) -> None:
    kinds = [{"annotator": "ann", "error": "sub_deter", "share": 0.25}]
    categories = [{"annotator": "ann", "category": "with a blunder", "share": 0.125}]
    write_study(home, "verbalizations", data=kinds, categories=categories)
    (kind,) = kgprobe.paper("distractors", "table-5").own
    assert (kind.row, kind.column, kind.value) == ("sub_deter", "proportion", 25.0)
    (category,) = kgprobe.paper("distractors", "table-6").own
    assert (category.row, category.value) == ("contain blunders", 12.5)


def test_measurement_has_mean_and_deviation_over_relations(home: Path) -> None:
    groups = [{"by": "relation", "name": name, "win_rate": rate} for name, rate in (("capital", 0.5), ("father", 0.1))]
    content = {"model": "demo", "probe": "examples", "headline": "", "win_rate": 0.4, "groups": groups}
    write_json(home / "probes" / "mine", "results.json", content)
    settings = {"probe": "examples", "described": {"model": "demo"}}
    (home / "probes" / "mine" / "config.json").write_text(json.dumps(settings))
    own = {number.column: number.value for number in kgprobe.paper("latent-knowledge", "table-7").own}
    assert own == {"average accuracy": 0.3, "standard deviation": 0.2828}
    relations = {number.row: number.value for number in kgprobe.paper("latent-knowledge", "table-8").own}
    assert relations == {"capital": 0.5, "father": 0.1}


def test_damaged_results_are_listed_without_numbers(home: Path) -> None:
    write_run(home, "broken", "hard")
    (home / "runs" / "broken-0123abcd" / "results.json").write_text("{")
    assert kgprobe.paper("kglens", "table-2").own == []


def test_judged_graph_has_the_three_metrics(home: Path) -> None:
    write_judged_graph(home / "judged" / "everything", [judged(f"f{n}", 0, [1]) for n in range(30)], shards=2)
    table = kgprobe.paper("grapheval", "table-2")
    assert {own.column for own in table.own} == {"correct", "truthful", "informative"}
    assert [result.kind for result in table.results] == ["judged graph"]


def test_judged_graph_has_the_speeds(home: Path) -> None:
    folder = write_judged_graph(home / "judged" / "everything", [judged("f", 0, [1])])
    assert kgprobe.paper("grapheval", "table-4").own == []
    speed = {"by": "judge", "model": "demo", "statements": 8, "seconds": 0.5, "per_second": 16.0}
    (folder / "speed.json").write_text(json.dumps([speed | {"device": "cpu", "dtype": "float32"}]))
    (own,) = kgprobe.paper("grapheval", "table-4").own
    assert (own.row, own.column, own.value) == ("judge (cpu)", "demo, speed", 16.0)


def test_labels_have_right_wrong_and_unknown_answers(home: Path) -> None:
    # To two facts: true, and no majority; to their negatives: false, true, true, unknown.
    described = {"model": "demo", "generator": {"name": "demo", "dtype": "float32"}}
    outcomes = [said("f0", 0, [1, 0]), said("f1", -1, [0, 2])]
    folder = write_labels(home / "probes" / "labelled", outcomes, described=described)
    (folder / "results.json").write_text(json.dumps({"model": "demo", "probe": "true-false", "headline": "…"}))
    table = kgprobe.paper("grapheval", "table-2")
    assert [(own.column, own.value) for own in table.own] == [
        ("right answers", 2),
        ("wrong answers", 2),
        ("don't know", 2),
    ]
    differing = {each.setting: (each.here, each.paper) for each in table.differences}
    assert differing["--dtype"] == ("float32", "float16")
    shown = " ".join(note for each in table.tables() for note in each.notes)
    assert "No to a negative is right" in shown
    assert "a model that affirms all statements is correct there, and not in kgprobe" in shown


def test_study_without_a_value_or_a_table_has_fewer_numbers(home: Path) -> None:
    row = {"measure": "rouge-l", "tau": None, "deviation": None, "own_tau": 0.5, "own_deviation": 0.1}
    write_study(home, "calibration", table=[row])
    assert [own.value for own in kgprobe.paper("distractors", "table-3").own] == [0.5, 0.1]
    for name, table in (("strategies", "figure-1"), ("robustness", "table-4"), ("verbalizations", "table-6")):
        write_json(home / "studies" / f"{name}-0123abcd", "study.json", {"name": name, "title": name, "verdict": ""})
        assert kgprobe.paper("distractors", table).own == []


def test_command_with_a_spaced_folder_can_be_pasted() -> None:
    contents = kgprobe.paper("distractors", model="hf:./my models/gpt2")
    commands = [row["command"] for row in contents.rows() if row["command"] and "--model" in row["command"]]
    for command in commands:
        assert "hf:./my models/gpt2" in shlex.split(command)


def test_paper_options_are_those_of_the_function() -> None:
    options = kgprobe.paper_options("latent-knowledge", "dataset build")
    assert options == {"min_facts": 500, "min_objects": 100, "train": 100, "test": 400, "alternatives": 99}
    labels = kgprobe.paper_options("grapheval", "probe true-false")
    assert "dtype" not in labels
    # No examples, which would be answers, too.
    assert (labels["instruction"].count("Statement:"), labels["instruction"].count("Answer:")) == (1, 1)
    with pytest.raises(UnknownNameError, match="has no options for `judge train`"):
        kgprobe.paper_options("kglens", "judge train")
