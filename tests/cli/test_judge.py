"""`kgprobe judge` as a user types it; what it computes is tested in tests/judge and tests/api."""

import json
from pathlib import Path

import pytest

import kgprobe
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.model import Model
from tests.api.judged_world import world, write_judge, write_model
from tests.cli.inprocess import printed, run, succeed
from tests.graph.servers.shared import environment_of
from tests.probes.true_false.test_probe import Rule

QUICK = ("--epochs", "1", "--units", "4")


@pytest.fixture(scope="module")
def labels(home: dict[str, str]) -> str:
    """Labels by a rule that statements' lengths give, as a folder's name."""
    generator = Rule(lambda statement, _: ("True", "False", "I don't know")[len(statement) % 3])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in home.items():
            patch.setenv(name, value)
        with kgprobe.open_graph() as graph:
            model = Model("rule", generator=generator)
            options = {"repeats": 1, "limit": 90, "as_of": 20250101, "name": "ruled"}
            return str(kgprobe.measure(graph, model, "true-false", **options).folder.name)


def test_from_labels_to_figures(home: dict[str, str], labels: str, talker: str, tmp_path: Path) -> None:
    page = str(tmp_path / "trained.html")
    told = printed(
        "judge", "train", labels, "--model", talker, "--name", "mine", *QUICK, "--output", page, "--json", **home
    )
    assert told["judge"].endswith("mine/judge.safetensors")
    assert told["layer"] in (1, 2)
    seen = succeed("judge", "evaluate", "mine", labels, "--model", talker, "--json", **home)
    assert json.loads(seen.stdout) == told["aside"]
    text = Path(page).read_text(encoding="utf-8")
    assert text.count("Plotly.newPlot") == 7
    assert "AUROC by layer" in text
    evaluated = ("--everything", "--output", str(tmp_path / "evaluated.html"))
    shown = run("judge", "evaluate", "mine", labels, "--model", talker, *evaluated, **home)
    assert (tmp_path / "evaluated.html").as_uri() in shown.stdout
    assert "Accuracy" in shown.stdout
    assert "held-out statements" in " ".join(shown.stdout.split())


def test_graph_is_judged_share_by_share(graph: Graph, tmp_path: Path) -> None:
    home = {"KGPROBE_HOME": str(tmp_path / "home"), **environment_of(graph.endpoint)}
    load(graph, world())
    write_judge(graph, write_model(tmp_path / "model"), tmp_path / "judge")
    command = ("judge", "predict", str(tmp_path / "judge"), "--name", "mine")
    wrong = run(*command, "--shard", "3/2", **home)
    assert (wrong.returncode, "--shard is '3/2'" in wrong.stderr) == (2, True)
    done = succeed(*command, "--shard", "1/2", "--json", **home)
    assert "facts" in done.stderr
    told = json.loads(done.stdout)
    assert told["complete"]
    again = run(*command, "--replace", "any", **home)
    assert (again.returncode, "made with other settings" in " ".join(again.stderr.split())) == (1, True)
    (row,) = [row for row in graph.query("explore/judged", judged_graph="mine") if row["relation"] == "r0"]
    figures = json.loads(run("show", "mine", "--json", **home).stdout)["figures"]
    regrouped = json.loads(run("show", "mine", "--mean-over", "relations", "--json", **home).stdout)
    assert regrouped["options"] == {"types_of": None, "mean_over": "relations"}
    (head,) = (each for each in regrouped["figures"] if (each["by"], each["metric"]) == ("head type", "correct"))
    assert (head["group"], head["measured"]) == ("country", 2)
    unknown = run("show", "mine", "--types-of", "schema", **home)
    assert (unknown.returncode, "--types-of is 'schema'; no id of a type" in unknown.stderr) == (2, True)
    for grouped in (("--by", "relation"), ("--center", "r0"), ("--by-confidence",)):
        refused = run("show", "mine", "--types-of", "schema", *grouped, **home)
        assert (refused.returncode, "for judged graphs, without groups" in refused.stderr) == (2, True), refused.stderr
    other = run("show", str(tmp_path / "judge"), "--types-of", "schema", **home)
    assert (other.returncode, "are for judged graphs; judge is a judge" in " ".join(other.stderr.split())) == (2, True)
    assert row["correct"] == next(one["raw"] for one in figures if (one["group"], one["metric"]) == ("r0", "correct"))
