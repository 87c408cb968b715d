"""``kgprobe sample edits``, ``probe edits`` and ``compare --edits`` as they are typed."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kgprobe.edits.asking import EditAsking
from kgprobe.edits.questions import read_questions, write_questions
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.keys import FactKey
from tests.cli.inprocess import Completed, run
from tests.edits.asked import OSLO, QUESTIONS, TOKYO, question

KEPT = [question(f"k{n}/1", "locality", "same subject", f"{n} is", expected=(TOKYO,), wrong=(OSLO,)) for n in range(3)]
UNLEARNED = [question("u1/1", "forgetting", "efficacy", "It is", wrong=(OSLO,))]


@pytest.fixture(scope="module")
def asked(talker: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A folder with two results of the same model."""
    home = tmp_path_factory.mktemp("edits")
    write_questions(home / "questions.jsonl", [*QUESTIONS, *KEPT, *UNLEARNED])
    environment = {"KGPROBE_HOME": str(home), "COLUMNS": "150"}
    for name in ("base", "tuned"):
        options = ("--way", "scores", "--name", name)
        done = run("probe", "edits", str(home / "questions.jsonl"), "--model", talker, *options, **environment)
        assert done.returncode == 0, done.stderr
        assert f"Stored as {name}." in done.stdout
    return environment


def compare(asked: dict[str, str], *arguments: str) -> Completed:
    return run("compare", "base", "tuned", "--edits", *arguments, **asked)


def test_compare_edits_prints_shares_and_writes_a_page(asked: dict[str, str]) -> None:
    done = compare(asked)
    assert done.returncode == 0, done.stderr
    assert "Right answers" in done.stdout
    assert "6 edits in tuned: efficacy" in done.stdout
    content = json.loads(compare(asked, "--json").stdout)
    assert content["verdict"] is None
    assert {row["group"] for row in content["kinds"]} >= {"efficacy", "generality", "portability", "locality"}
    locality = next(row for row in content["kinds"] if (row["group"], row["kind"]) == ("locality", "all"))
    assert locality["same_scored"] == 1
    assert Path(content["page"]).exists()
    assert "6 edits in tuned" in run("view", "--json", **asked).stdout


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--fail-if-lost", "99%"), 0),
        (("--fail-if-lost", "1%"), 3),
        (("--forget", "99%"), 0),
        (("--forget", "1%"), 3),
        (("--forget", "99%", "--fail-if-lost", "1%"), 3),
    ],
)
def test_compare_edits_exit_code_is_the_worst_verdict(
    asked: dict[str, str], options: tuple[str, ...], code: int
) -> None:
    done = compare(asked, *options)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("undecided" in done.stdout) == (code == 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("base", "tuned", "--forget", "1%"), "give --edits, too"),
        (("base", "--edits"), "--edits needs two results, not 1."),
        (("base", "tuned", "--edits", "--gap"), "exclude each other"),
        (("base", "base", "--edits"), "base has the same answers"),
        (("base", "none", "--edits", "--forget", "1%"), "none has no answers about edits"),
    ],
)
def test_compare_edits_wrong_usage_exits_with_2(asked: dict[str, str], arguments: tuple[str, ...], said: str) -> None:
    done = run("compare", *arguments, **asked)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_sample_edits_published_file_needs_no_graph(tmp_path: Path) -> None:
    record = {"prompt": "The capital of Spain is", "target_new": "Oslo", "ground_truth": "Madrid"}
    (tmp_path / "zsre.json").write_text(json.dumps([record]))
    environment = {"KGPROBE_HOME": str(tmp_path / "home")}
    output = ("-o", str(tmp_path / "questions.jsonl"))
    done = run("sample", "edits", "--facts", str(tmp_path / "zsre.json"), *output, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 question about 1 edit: 1 efficacy.")
    (written,) = read_questions(tmp_path / "questions.jsonl")
    assert written.prompt == record["prompt"]
    assert not (tmp_path / "home" / "graph").exists()
    again = run("sample", "edits", "--facts", str(tmp_path / "zsre.json"), *output, **environment)
    assert (again.returncode, "--force overwrites it" in again.stderr) == (2, True)


def test_sample_edits_facts_to_unlearn_are_listed(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("Q142\tP36\tQ90\n")
    options = ("--unlearn", "--paraphrases", "1", "--aliases", "0", "--neighbours", "1", "--json")
    done = run("sample", "edits", "--facts", str(tmp_path / "facts.tsv"), *options, **home)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["group"] for row in rows].count("locality") == 2
    assert rows[0]["expected"] == [{"names": ["Paris"], "id": "Q90"}]


def test_probe_edits_interrupted_keeps_answers_and_continues(
    talker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_questions(tmp_path / "questions.jsonl", KEPT)
    options = ("--model", talker, "--way", "scores", "--batch-size", "2", "--name", "new")
    command = ("probe", "edits", str(tmp_path / "questions.jsonl"), *options)
    environment = {"KGPROBE_HOME": str(tmp_path / "home")}
    ask = EditAsking.ask

    def interrupt(probe: EditAsking, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        if len(facts) < 2:
            raise KeyboardInterrupt
        return ask(probe, facts, seed)

    with monkeypatch.context() as patched:
        patched.setattr(EditAsking, "ask", interrupt)
        stopped = run(*command, **environment)
    assert stopped.returncode == 1
    assert "The answers to finished batches are stored. Repeat the command to continue.\n" in stopped.stderr
    again = run(*command, **environment)
    assert again.returncode == 0, again.stderr
    assert "2 of them measured before" in again.stderr
