"""``kgprobe report`` and ``kgprobe results`` as a user types them."""

import csv
import json
from pathlib import Path

import pytest

from tests.cli.inprocess import printed, succeed
from tests.cli.inprocess import run as kgprobe
from tests.models.api.fault_proxy import FaultProxy

FEW = ["--limit", "8", "--distractors", "2", "--sentences", "1", "--as-of", "2024", "--json"]


def test_results_become_a_page_and_rows(home: dict[str, str], model: str, tmp_path: Path) -> None:
    for name, seed in (("reported", "1"), ("reported-too", "1")):
        succeed(
            *("probe", "distractors", "--model", model, "--name", name, "--seed", seed, *FEW),
            *(["--distractors", "1"] if name == "reported-too" else []),
            **home,
        )
    latest = succeed("report", **home)
    assert "of the 8 facts asked" in " ".join(latest.stdout.split())
    out = tmp_path / "both.html"
    told = printed("report", "reported", "reported-too", "--output", str(out), "--json", **home)
    assert told["page"] == str(out)
    assert "Fact by fact" in out.read_text(encoding="utf-8")
    assert {row["result"] for row in told["facts"]} == {result["label"] for result in told["results"]}
    assert told["comparison"]["facts"] > 0
    # The same, where the command is named; a result may be called like one.
    again = kgprobe("report", "page", "reported", "reported-too", "--output", str(out), **home)
    assert again.stdout.splitlines()[-1] == f"Page: {out.as_uri()}"
    listed = succeed("results", **home)
    assert "reported" in listed.stdout
    rows = [
        json.loads(line)
        for line in kgprobe(
            "results", "--kind", "measurement", "--kind", "report", "--json", **home
        ).stdout.splitlines()
    ]
    assert {"reported", "reported-too"} <= {row["name"] for row in rows}
    assert {row["kind"] for row in rows} == {"measurement", "report"}


def test_without_a_result_nothing_is_written(tmp_path: Path) -> None:
    own = {"KGPROBE_HOME": str(tmp_path)}
    listed = succeed("results", **own)
    assert "has no results yet" in listed.stdout


def test_graph_picture_is_drawn_and_facts_are_printed(home: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("neo4j_viz", reason="needs the extra explore")
    page = tmp_path / "france.html"
    asked = ["report", "graph", "France", "--relation", "capital", "--steps", "2", "--output", str(page)]
    told = printed(*asked, "--json", **home)
    assert (told["around"], told["complete"], told["page"]) == ("Q142", True, str(page))
    assert [fact["object_label"] for fact in told["facts"]] == ["Paris"]
    assert "neo4j-viz-data" in page.read_text(encoding="utf-8")
    assert f"Page: {page.as_uri()}" in kgprobe(*asked, **home).stdout
    for wrong, message in (
        (["Atlantis"], "Atlantis"),
        (["France", "--run", "nobody"], "nobody"),
        (["France", "--limit", "5000"], "--limit is 5000; expected at most 2,000"),
    ):
        refused = kgprobe("report", "graph", *wrong, **home)
        assert (refused.returncode, refused.stdout, message in refused.stderr) == (2, "", True), refused.stderr


def test_people_assess_questions_by_a_sheet(home: dict[str, str], tmp_path: Path) -> None:
    with FaultProxy(upstream=lambda _: "That would be Paris.") as proxy:
        asking = ["probe", "questions", "--model", f"openai:m@{proxy.url}", "--name", "to-assess", "--limit", "6"]
        succeed(*asking, "--as-of", "2024", "--json", **home)
    sheet = tmp_path / "sheet.csv"
    written = succeed("report", "sheet", "to-assess", "--output", str(sheet), "--per-kind", "2", "--json", **home)
    with open(sheet, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert json.loads(written.stdout) == {"file": str(sheet), "questions": len(rows)}
    again = kgprobe("report", "sheet", "to-assess", "--output", str(sheet), **home)
    assert (again.returncode, again.stdout) == (2, "")
    assert "--force overwrites it" in " ".join(again.stderr.split())
    empty = kgprobe("report", "assess", "to-assess", "--sheet", str(sheet), **home)
    assert (empty.returncode, empty.stdout) == (1, "")
    assert "no votes" in empty.stderr
    for row in rows:
        row["understood"] = "yes"
        row["correct"] = "no"
    with open(sheet, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assessed = succeed("report", "assess", "to-assess", "--sheet", str(sheet), "--json", **home)
    shares = {row["of"]: row["good"] for row in json.loads(assessed.stdout)["shares"]}
    assert shares["questions (QG)"] == 1
    # Random answers are wrong, and people say so.
    assert shares["both (QG+QAV)"] == 1
