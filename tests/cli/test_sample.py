"""`kgprobe sample` as a user types it; what it finds is tested in tests/api/test_samples.py."""

import json
from pathlib import Path

from tests.cli.inprocess import Completed, run, succeed

PARIS = ("--fact", "Q142 P36 Q90", "--as-of", "2025-12")
PRESIDENT = ("--fact", "Q30 P35 Q22686", "--as-of", "2025-12")


def rows(done: Completed) -> list[dict[str, object]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_programs_get_a_line_for_each_distractor(home: dict[str, str]) -> None:
    options = (
        "sample",
        "distractors",
        *PRESIDENT,
        "--strategy",
        "temporal-semantic",
        "--weighting",
        "bm25",
        "--distractors",
        "3",
    )
    found = rows(run(*options, "--json", **home))
    assert [(row["rank"], row["label"], row["former"]) for row in found[:2]] == [
        (1, "Joe Biden", True),
        (2, "Barack Obama", True),
    ]
    assert list(found[0]) == [
        *("fact", "subject", "relation", "object", "subject_label", "relation_label", "object_label"),
        *("sentence", "rank", "id", "label", "aliases", "former", "reason", "certified"),
        *("strategy", "weighting", "k1", "b", "former_objects"),
    ]
    assert rows(run(*options, "--json", "--seed", "1", **home)) == found


def test_people_get_a_table_with_the_reasons(home: dict[str, str]) -> None:
    done = succeed(
        "sample", "distractors", *PARIS, "--strategy", "semantic", "--distractors", "3", **home, COLUMNS="200"
    )
    assert "France · capital · Paris: semantic distractors" in done.stdout
    assert done.stdout.count("city, capital, like Paris; cosine 0.") == 3
    assert done.stderr == ""


def test_what_is_unusual_stands_on_stderr(home: dict[str, str]) -> None:
    done = run("sample", "distractors", "--fact", "Q142 P30 Q46", "--json", **home)
    assert len(rows(done)) == 5
    assert "5 distractors, not 10. There are 6 entities of the type continent" in done.stderr


def test_optimal_distractors_belong_to_a_sentence(home: dict[str, str], model: str) -> None:
    options = ("--strategy", "exact-optimal", "--model", model, "--sentences", "all", "--distractors", "1", "--explain")
    done = run("sample", "distractors", "--fact", "Q142 P30 Q46", "--as-of", "2025-12", *options, "--json", **home)
    found = rows(done)
    assert len({row["sentence"] for row in found}) == len(found) > 1
    assert {(row["model"], row["rank"], row["certified"]) for row in found} == {(model, 1, True)}
    assert "agrees with plain forward passes" in done.stderr


def test_facts_are_drawn(home: dict[str, str]) -> None:
    options = ("sample", "facts", "--relation", "P36", "--limit", "4", "--as-of", "2025-12")
    done = run(*options, "--json", **home)
    drawn = rows(done)
    assert (len(drawn), {row["relation"] for row in drawn}) == (4, {"P36"})
    assert "facts can be asked at 20251231." in done.stderr
    assert str(drawn[0]["subject_label"]) in run(*options, **home, COLUMNS="200").stdout
    assert drawn != rows(run(*options, "--json", "--seed", "9", **home))


def test_negatives_are_drawn(home: dict[str, str]) -> None:
    options = ("sample", "negatives", *PRESIDENT, "--limit", "900")
    done = run(*options, "--json", **home)
    found = rows(done)
    assert f"{len(found)} hard negatives, not 900: no more exist" in done.stderr
    shown = run(*options, **home, COLUMNS="200").stdout
    assert "United States of America · head of state · Donald Trump: hard negatives" in shown
    assert "until 2025-01-20" in shown


def test_negatives_of_statements_are_drawn(home: dict[str, str]) -> None:
    options = ("sample", "negatives", *PARIS, "--replace", "any", "--limit", "6")
    found = rows(run(*options, "--json", **home))
    assert len(found) == 6
    assert {row["statement"] for row in found} <= {"The capital of France is Paris.", "Paris is the capital of France."}
    shown = run(*options, **home, COLUMNS="200")
    assert "France · capital · Paris: " in shown.stdout
    assert str(found[0]["false_statement"]) in shown.stdout
    few = run(*options[:4], "--replace", "relation", *PARIS[2:], "--limit", "900", "--json", **home)
    assert "cannot be asked: the graph has nothing that makes it false in place of its relation." in few.stderr
    many = run(*options[:4], "--replace", "relation", "--any-type", *PARIS[2:], "--limit", "900", "--json", **home)
    assert f"{len(rows(many))} negatives, not 900: no more exist." in many.stderr


def test_questions_are_shown_with_what_is_right(home: dict[str, str]) -> None:
    past = ("--fact", "Q30 P35 Q6279", "--as-of", "2025-12")
    shown = run("sample", "questions", *PARIS, *past, **home, COLUMNS="200").stdout
    assert "France · capital · Paris: yes/no question\n" in shown
    assert "  Question: " in shown
    assert "Right: yes" in shown
    assert "cannot be asked: it does not hold at 20251231" in shown
    easy = ("--difficulty", "easy", "--with-alias", "--seed", "1", "--json")
    [row] = rows(run("sample", "questions", *PARIS, *easy, **home))
    assert (row["kind"], "(also called " in str(row["question"])) == ("yes/no", True)
    assert "--follow-ups" not in run("sample", "questions", "--help").stdout


def test_sentences_are_written_for_annotators(home: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "ann.csv"
    options = ("sample", "facts", "--sentences", "1", "--relation", "P36", "--limit", "3", "--as-of", "2025-12")
    found = rows(run(*options, "--json", **home))
    done = run(*options, "--output", str(file), **home)
    assert (done.returncode, done.stdout) == (0, f"3 sentences: {file}\n"), done.stderr
    text = file.read_text()
    assert text.startswith("triples_raw,triples,context,verbalization,errors,correction\n")
    assert all(str(row["verbalization"]) in text for row in found)
    file.write_text(text.replace(",,\n", ",-,\n"))
    study = succeed("study", "verbalizations", str(file), "--json", **home)
    assert json.loads(study.stdout)["verdict"] == "0% [0, 56] of 3 sentences have errors (ann)."
    # What people filled in is not overwritten.
    annotated = file.read_text()
    assert run(*options, "--output", str(file), **home).returncode == 2
    assert file.read_text() == annotated
    assert run(*options, "--output", str(file), "--force", **home).returncode == 0
    assert file.read_text() == text
    without = run("sample", "facts", "--output", str(tmp_path / "none.csv"), **home)
    assert (without.returncode, "--output is for --sentences" in without.stderr) == (2, True)


def test_controls_are_shown_and_written(home: dict[str, str], tmp_path: Path) -> None:
    near, file = tmp_path / "taught.txt", tmp_path / "roles.jsonl"
    near.write_text("France | capital | Paris\n")
    options = ("sample", "controls", "--near", str(near), "--limit", "12", "--as-of", "2025-12")
    done = succeed(*options, "-o", str(file), **home, COLUMNS="200")
    for role in ("same subject", "inverse", "same relation", "neighbour", "two hops", "far"):
        assert role in done.stdout
    assert f"Roles: {file}" in done.stdout
    roles = [json.loads(line) for line in file.read_text().splitlines()]
    assert roles[0] == {"subject": "Q142", "fact": roles[0]["fact"], "role": "taught", "of": None}
    # At 80 columns no heading is broken.
    narrow = run(*options, **home, COLUMNS="80").stdout
    assert all(heading in narrow for heading in ("candidates", "facts", "popularity", "example")), narrow
    content = json.loads(run(*options, "--json", **home).stdout)
    assert sum(ring["facts"] for ring in content["rings"]) == len(roles) - 1
    again = run(*options, "-o", str(file), **home)
    assert (again.returncode, "--force overwrites it" in again.stderr) == (2, True)
    near.write_text("Atlantis | capital | Poseidonis\n")
    empty = run(*options, **home)
    assert (empty.returncode, "--near names no fact of this graph" in empty.stderr) == (2, True), empty.stderr
