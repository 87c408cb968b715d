"""The study commands as a user types them."""

import json
from pathlib import Path

import pytest

from tests.servers.servers import kgprobe

COMMON = ["--sample", "6", "-n", "3", "--relation", "P35", "--json"]


@pytest.mark.usefixtures("sample")
def test_strategies_are_studied_and_kept(home: dict[str, str], model: str) -> None:
    command = ["study", "strategies", "--model", model, "--strategy", "random", "--strategy", "temporal-semantic"]
    done = kgprobe(*command, *COMMON, **home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [set(row) for row in found["table"]] == [{"n", "random", "temporal-semantic"}] * 3
    assert Path(found["data"]).read_text().startswith("strategy,n,mean,low,high\nrandom,1,")
    assert "Plotly" in Path(found["page"]).read_text()
    again = kgprobe(*command, *COMMON, **home)
    assert again.stdout == done.stdout
    assert again.stderr.count("6 of them measured before") == 2
    shown = kgprobe(*command, *COMMON[:-1], **home)
    assert "Mean Min@n by strategy" in shown.stdout
    assert "study.html" in shown.stdout


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(("name", "column"), [("distractors", "τ Min@n"), ("sentences", "τ Avg")])
def test_numbers_are_studied(home: dict[str, str], model: str, name: str, column: str) -> None:
    done = kgprobe("study", name, "--model", model, *COMMON, **home)
    assert done.returncode == 0, done.stderr
    assert column in json.loads(done.stdout)["table"][0]


@pytest.mark.usefixtures("sample")
def test_one_model_has_no_line(home: dict[str, str], model: str) -> None:
    done = kgprobe("study", "sizes", "--model", model, *COMMON, **home)
    assert (done.returncode, "two models at least" in done.stderr) == (2, True)


VERBALIZATIONS = """\
,triples_raw,triples,popularity,context,verbalization,errors,correction
0,"('Q17', 'P36', 'Q1490')","(Japan, capital, Tokyo, start=None, end=None)",1,present,capital of Japan is Tokyo,sub_deter,The capital of Japan is Tokyo
1,"('Q142', 'P36', 'Q90')","(France, capital, Paris, start=None, end=None)",1,present,France has capital Paris,obj_deter,France has its capital in Paris
2,"('Q183', 'P36', 'Q64')","(Germany, capital, Berlin, start=None, end=None)",1,present,Germany is rule from Berlin,wrong_conjug,Germany is ruled from Berlin
3,"('Q38', 'P36', 'Q220')","(Italy, capital, Rome, start=None, end=None)",1,present,The capital of Italy is Rome,-,
4,"('Q38', 'P36', 'Q90')","(Italy, capital, Paris, start=None, end=None)",1,present,capital of Italy is Paris,-,The capital of Italy is Paris
"""  # noqa: E501
SCORES = [("Q17", "Q1490"), ("Q142", "Q90"), ("Q183", "Q64"), ("Q38", "Q220"), ("Q29", "Q2807"), ("Q96", "Q1489")]
MEASURES = ["--strategy", "random", "-n", "5", "--width", "2", "--json"]


@pytest.mark.usefixtures("sample")
def test_robustness_is_studied_for_every_measure(home: dict[str, str], model: str, tmp_path: Path) -> None:
    table = tmp_path / "errors.csv"
    table.write_text(VERBALIZATIONS)
    done = kgprobe("study", "robustness", str(table), "--model", model, "--judge", model, *MEASURES, **home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = {row["measure"] for row in found["table"]}
    assert names == {"distractors:random", "probability", "precision@n", "rouge-l", "judge", "karr"}
    assert {row["pairs"] + row["left out"] for row in found["table"]} == {3}
    notes = "\n".join(found["notes"])
    assert "1: it has no correction" in notes
    assert "1: the graph has no such fact" in notes
    # Each sentence has its subject in it, so another can take its place.
    assert {row["pairs"] for row in found["table"] if row["measure"] == "karr"} == {3}


@pytest.mark.usefixtures("sample")
def test_calibration_is_studied_against_people(home: dict[str, str], model: str, tmp_path: Path) -> None:
    scores = tmp_path / "scores.json"
    entries = [
        {"subject": subject, "relation": "P36", "object": object_, "human_score": number / 10}
        for number, (subject, object_) in enumerate(SCORES)
    ]
    scores.write_text(json.dumps(entries))
    done = kgprobe("study", "calibration", str(scores), "--model", model, *MEASURES, **home)
    assert done.returncode == 0, done.stderr
    table = {row["measure"]: row for row in json.loads(done.stdout)["table"]}
    # The small model's tokenizer has hardly a name that is one token.
    assert table.keys() == {"distractors:random", "probability", "rouge-l", "karr"}
    assert "precision@n is not judged" in done.stdout
    assert table["probability"]["facts"] == 6
    assert "n = " in table["distractors:random"]["best of fold 1"]

    scores.write_text(json.dumps([{**entries[0], "human_score": 2}]))
    wrong = kgprobe("study", "calibration", str(scores), "--model", model, **home)
    assert (wrong.returncode, "$[0].human_score" in wrong.stderr) == (1, True), wrong.stderr
    unknown = kgprobe("study", "calibration", str(scores), "--model", model, "--measure", "bertscore", **home)
    assert unknown.returncode != 0


def test_sampling_is_studied_on_made_up_facts(home: dict[str, str]) -> None:
    command = ["study", "sampling", "--facts", "200", "--requests", "800", "--batch", "20", "--hardest", "10", "--json"]
    done = kgprobe(*command, "--seed", "3", **home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["requests"] for row in found["table"][::5]] == [40, 100, 200, 400, 800]
    assert "200 facts between 100 entities, 100% of the facts in one connected part" in "\n".join(found["notes"])
    assert kgprobe(*command, "--seed", "3", **home).stdout == done.stdout
    other = json.loads(kgprobe(*command, "--likeness", "0", "--seed", "3", **home).stdout)
    assert other["data"] != found["data"]
    assert other["table"] != found["table"]
    once = kgprobe(*command, "--repetitions", "1", **home)
    assert (once.returncode, "--repetitions" in once.stderr) == (2, True)


@pytest.mark.usefixtures("sample")
def test_sampling_is_studied_on_what_a_run_found(home: dict[str, str], model: str) -> None:
    plan = ["--rounds", "4", "--batch", "20", "--sampling", "iteration", "--no-propagation", "--run", "truth"]
    done = kgprobe("rounds", "run", "--model", model, "--relation", "P36", *plan, "--json", **home)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["facts_asked"]
    command = ["study", "sampling", "--run", "truth", "--batch", "5", "--hardest", "3", "--json"]
    done = kgprobe(*command, **home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert f"truth, {model} · {facts} facts" in found["title"]
    assert "θ is the share of a fact's own answers in run truth that were wrong" in found["notes"][0]
    beside = kgprobe(*command, "--hard", "0.3", **home)
    assert (beside.returncode, "--hard is about made-up facts" in beside.stderr) == (2, True), beside.stderr
    unknown = kgprobe("study", "sampling", "--run", "nothing", **home)
    assert (unknown.returncode, "no run 'nothing'" in unknown.stderr) == (2, True), unknown.stderr
    assert kgprobe("rounds", "forget", "truth", "--yes", **home).returncode == 0
