"""``kgprobe compare``, ``check`` and ``gap`` as they are typed, on made-up answers."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from kgprobe.labelling.roles import FactRole, write_roles
from kgprobe.labelling.table import write_label_table
from tests.cli.inprocess import Completed, run
from tests.labelling.test_table import CHAD, CONFIG, FRANCE
from tests.stored import store_measurement

FACTS = [f"f{n:03}" for n in range(600)]


@pytest.fixture
def probes(tmp_path: Path) -> Path:
    """A user's folder with results of a base model, of three that were made of it, and of another way of asking."""
    folder = tmp_path / "probes"
    right = dict.fromkeys(FACTS, True)
    store_measurement(folder / "base", right, model="hf:base")
    store_measurement(folder / "same", right, model="hf:same")
    store_measurement(folder / "worse", right | dict.fromkeys(FACTS[:60], False), model="hf:worse")
    store_measurement(folder / "between", right | dict.fromkeys(FACTS[:12], False), model="hf:between")
    store_measurement(folder / "seeded", right, model="hf:same", seed=1)
    store_measurement(folder / "words", right | dict.fromkeys(FACTS[:60], False), model="hf:base", probe="questions")
    return tmp_path


def typed(home: Path, *arguments: str) -> Completed:
    return run(*arguments, KGPROBE_HOME=str(home), COLUMNS="150")


def check(home: Path, *arguments: str) -> Completed:
    return typed(home, "check", *arguments)


def compare(home: Path, *arguments: str) -> Completed:
    return typed(home, "compare", *arguments)


@pytest.mark.parametrize(
    ("tuned", "code", "said"),
    [
        ("same", 0, "Kept: 0.0 points lost on 600 facts"),
        ("worse", 1, "Lost: 10.0 points lost on 600 facts"),
        ("between", 3, "Undecided: 2.0 points lost on 600 facts"),
    ],
)
@pytest.mark.representatives(2)
def test_exit_code_is_the_verdict(probes: Path, tuned: str, code: int, said: str) -> None:
    done = check(probes, "base", tuned)
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout + done.stderr
    assert ("Facts needed for 80% power: about" in " ".join(done.stdout.split())) == (code == 3)
    told = json.loads(check(probes, "base", tuned, "--json").stdout)
    assert told["verdict"] == said.split(":")[0].lower()
    assert told["forgotten"] == {"same": 0, "worse": 60, "between": 12}[tuned]
    assert {Path(path).name for path in told["files"]} == {
        "forgetting.html",
        "forgetting.json",
        "accuracy.csv",
        "relations.csv",
        "changed_facts.csv",
    }
    if code == 1:
        assert "10 of 60." in done.stdout
        assert "Strong of f009" in done.stdout
        assert "Strong of f010" not in done.stdout


def test_several_stand_side_by_side_without_a_server(probes: Path) -> None:
    done = compare(probes, "base", "worse", str(probes / "probes" / "between"), "--full")
    assert done.returncode == 0, done.stderr
    for title in (
        "Side by side",
        "Accuracy by relation",
        "Subsumption",
        "Differences of accuracy",
    ):
        assert title in done.stdout
    # All facts are of one relation.
    assert "Pearson" not in done.stdout
    assert not (probes / "graph").exists()
    short = compare(probes, "base", "worse", "between")
    assert "Side by side" in short.stdout
    assert "Subsumption" not in short.stdout
    assert "Page: file://" in short.stdout
    assert short.stdout.count("Data: ") == 1
    assert f" CSV files in {probes / 'comparisons'}" in short.stdout


def test_what_is_known_and_not_said(probes: Path) -> None:
    done = typed(probes, "gap", "base", "words")
    assert done.returncode == 0, done.stderr
    assert "base knows 600 facts by distractors, and misses 10% [8, 13] of them by questions." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "base"), "RESULT... has 1; expected at least two."),
        (("compare", "base", "base"), "RESULT... has the same result twice"),
        (("compare", "base", ".."), ".. holds no measurement or run or label table or judge"),
        (("compare", "base", "worse", "--scheme", "slick"), "--scheme is for a label table; this is a measurement."),
        (("compare", "base", "worse", "--device", "cpu"), "--device and other options of models are for a judge;"),
        (("check", "base", "seeded"), "TUNED differs from the base in more than the model"),
        (("check", "base", "base"), "has the same result twice"),
        (("check", "base", "worse", "same"), "unexpected extra argument"),
        (("check", "base", "worse", "--margin", "2"), "--margin is 2, which is not a share; write 2% or 0.02."),
        (("check", "base", "worse", "--margin", "100%"), "1.0 is not in the range 0<=x<1"),
        (("gap", "base", "worse"), "SAID is by the probe distractors, like the first"),
    ],
)
@pytest.mark.representatives(2)
def test_wrong_usage_is_named(probes: Path, arguments: tuple[str, ...], said: str) -> None:
    done = typed(probes, *arguments)
    assert (done.returncode, said in " ".join(done.stderr.split())) == (2, True), done.stderr


@pytest.mark.parametrize("flags", [(), ("--debug",)])
def test_compare_check_that_fails_exits_with_2(probes: Path, flags: tuple[str, ...]) -> None:
    answers = probes / "probes" / "same" / "outcomes.jsonl"
    answers.write_text(answers.read_text().replace('"f007"', "f007"))
    done = check(probes, "base", "same", *flags)
    assert (done.returncode, "line 8: damaged" in done.stderr) == (2, True), done.stderr
    answers.unlink()
    answers.mkdir()
    done = check(probes, "base", "same", *flags)
    assert (done.returncode, "cannot be read" in done.stderr) == (2, True), done.stderr


def test_compare_name_is_a_result_before_a_folder(probes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("same", "model"):
        (probes / name).mkdir()
        (probes / name / "config.json").write_text('{"model_type": "gpt2"}')
    monkeypatch.chdir(probes)
    done = check(probes, "base", "same")
    assert (done.returncode, "Kept" in done.stdout) == (0, True), done.stderr
    done = check(probes, "base", "./model")
    assert (done.returncode, "./model holds no measurement or run" in done.stderr) == (2, True), done.stderr
    assert check(probes, "probes/base", "./probes/same").returncode == 0


def test_check_of_two_specs_takes_their_newest_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("base", "tuned"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    base, tuned = "hf:./base", "hf:./base+./tuned"
    none = check(tmp_path, base, tuned)
    assert (none.returncode, none.stdout) == (2, "")
    assert "hf:./base has no measurement" in none.stderr
    assert "kgprobe probe distractors --model hf:./base" in none.stderr
    right = dict.fromkeys(FACTS, True)
    lost = right | dict.fromkeys(FACTS[:60], False)
    for name, answers, model in (
        ("before", lost, f"hf:{tmp_path}/base"),
        ("first", lost, f"hf:{tmp_path}/base+{tmp_path}/tuned"),
        ("after", right, f"hf:{tmp_path}/base+{tmp_path}/tuned"),
    ):
        store_measurement(tmp_path / "probes" / name, answers, model=model)
    kept = check(tmp_path, base, tuned)
    assert (kept.returncode, "Kept" in kept.stdout) == (0, True), kept.stdout + kept.stderr
    assert "hf:./base+./tuned: its newest measurement, after." in kept.stderr
    # A newer one with another seed cannot be compared.
    store_measurement(tmp_path / "probes" / "seeded", lost, model=f"hf:{tmp_path}/base+{tmp_path}/tuned", seed=1)
    for worse in (check(tmp_path, tuned, base), compare(tmp_path, tuned, base)):
        assert "hf:./base+./tuned: its newest comparable measurement, after." in worse.stderr
        assert worse.stdout.startswith("10.0 points lost, 60 facts forgotten, 0 gained from "), worse.stdout


def test_exit_codes_are_in_the_help(probes: Path) -> None:
    assert "0 kept, 1 lost, 2 failed or wrong usage, 3 undecided" in " ".join(check(probes, "--help").stdout.split())


@pytest.fixture
def roles(tmp_path: Path) -> Path:
    """A file of roles: a ring of the facts that ``worse`` lost, a far ring, and taught facts."""
    path = tmp_path / "roles.jsonl"
    parts = [(FACTS[:300], "neighbour"), (FACTS[300:560], "far"), ([*FACTS[560:], "f999"], "taught")]
    all_roles = [FactRole(f"s-{fact}", fact, role) for facts, role in parts for fact in facts]
    write_roles(path, all_roles)
    return path


def test_compare_roles_worst_ring_is_the_exit_code(probes: Path, roles: Path) -> None:
    for tuned, margin, code, verdict in (
        ("same", "2%", 0, "kept"),
        ("worse", "2%", 1, "lost"),
        ("worse", "22%", 3, "undecided"),
    ):
        done = check(probes, "base", tuned, "--roles", str(roles), "--margin", margin)
        assert done.returncode == code, done.stdout + done.stderr
        assert f"{verdict.capitalize()} near (neighbour" in " ".join(done.stdout.split())
    done = check(probes, "base", "worse", "--roles", str(roles))
    assert done.returncode == 1
    text = " ".join(done.stdout.split())
    assert "Lost near (neighbour, 20.0 points lost on 300). Kept far (0.0 points lost on 260)." in text
    assert "Gain of the taught facts: +0.0 points on 40" in text
    assert "base lacks 1 (not asked: 1), worse lacks 1 (not asked: 1); among them f999 (taught)." in done.stderr
    content = json.loads(check(probes, "base", "worse", "--roles", str(roles), "--json").stdout)
    assert (content["verdict"], content["near"], content["far"]) == ("lost", "lost", "kept")
    assert [ring["role"] for ring in content["rings"]] == ["neighbour", "far"]
    names = {Path(path).name for path in content["files"]}
    assert names == {"roles.html", "roles.json", "rings.csv", "gains.csv", "changed_facts.csv", "unanswered.csv"}


def test_compare_roles_wrong_usage_is_named(probes: Path, roles: Path) -> None:
    done = check(probes, "base", "same", "--roles", "none.jsonl")
    assert (done.returncode, "--roles is none.jsonl, which cannot be read" in done.stderr) == (2, True), done.stderr
    write_roles(roles, [FactRole("s-f000", "f000", "taught")])
    done = check(probes, "base", "same", "--roles", str(roles))
    assert (done.returncode, "no ring has a verdict" in done.stderr) == (2, True), done.stderr


def test_junit_and_markdown_are_written_with_the_verdict(probes: Path, tmp_path: Path) -> None:
    junit, markdown = tmp_path / "new" / "checks.xml", tmp_path / "summary.md"
    files = ("--junit", str(junit), "--markdown", str(markdown))
    done = check(probes, "base", "worse", *files)
    assert done.returncode == 1, done.stderr
    assert "Lost: 10.0 points lost on 600 facts" in done.stdout
    cases = {case.attrib["name"]: case for case in Xml.fromstring(junit.read_text())[0]}  # noqa: S314
    assert set(cases) == {"all facts", "r0"}
    assert all(case.find("failure") is not None for case in cases.values())
    lines = markdown.read_text().splitlines()
    assert lines[2].startswith("**Lost: 10.0 points lost on 600 facts")
    assert "Strong of f009" in markdown.read_text()


def test_markdown_to_stdout_is_alone_there(probes: Path) -> None:
    done = check(probes, "base", "worse", "--markdown", "-")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("### ")
    assert "Page:" not in done.stdout


def test_summary_files_one_output_is_stdout(probes: Path) -> None:
    done = check(probes, "base", "worse", "--markdown", "-", "--json")
    assert done.returncode == 2
    said = "Only one of --junit -, --markdown - and --json can write to standard output."
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("compare", "cannot be compared: base is a measurement, and table a label table. Give results of one kind."),
        ("check", "table is a label table; expected a measurement or run."),
        ("gap", "table is a label table; expected a measurement or run."),
    ],
)
def test_results_of_two_kinds_are_refused_by_name(probes: Path, command: str, said: str) -> None:
    write_label_table(probes / "labels" / "table", CONFIG, [FRANCE])
    done = typed(probes, command, "base", "table")
    assert (done.returncode, said in " ".join(done.stderr.split())) == (2, True), done.stderr


def test_compare_kind_selects_among_equal_names(probes: Path) -> None:
    for name in ("base", "same"):
        write_label_table(probes / "labels" / name, CONFIG, [FRANCE])
    done = compare(probes, "base", "same")
    assert (done.returncode, "which is a measurement and a label table" in done.stderr) == (2, True), done.stderr
    assert "0 of 1 fact" in compare(probes, "base", "same", "--kind", "label table").stdout
    assert "Side by side" in compare(probes, "base", "same", "--kind", "measurement").stdout


def test_compare_label_tables_counts_moved_facts(probes: Path) -> None:
    for name, facts in (
        ("one", [FRANCE, replace(CHAD, basis="asked")]),
        ("other", [FRANCE, replace(CHAD, basis="asked", belief=FRANCE.belief)]),
    ):
        write_label_table(probes / "labels" / name, CONFIG, facts)
    done = compare(probes, "one", "other", "--scheme", "belief")
    assert (done.returncode, "1 of 2 facts moved" in done.stdout) == (0, True), done.stdout + done.stderr
    assert "From one (rows) to other (columns)" in done.stdout
    (moved,) = (probes / "comparisons").glob("*/moved.csv")
    assert moved.read_text(encoding="utf-8").startswith("fact,subject")
    checked = check(probes, "one", "other")
    assert (checked.returncode, "one is a label table; expected a measurement or run" in checked.stderr) == (2, True)
    three = compare(probes, "one", "other", "one")
    assert (three.returncode, "a label table is compared with one other" in three.stderr) == (2, True)
