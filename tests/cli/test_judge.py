"""`kgprobe judge` as a user types it; what it computes is tested in tests/judge and tests/library."""

import json

import pytest

import kgprobe
from kgprobe.models.model import Model
from tests.cli.inprocess import run
from tests.probes.labels.test_probe import Rule

pytestmark = pytest.mark.usefixtures("example")

QUICK = ("--epochs", "1", "--units", "4")


@pytest.fixture(scope="module")
def labels(home: dict[str, str], example: None) -> str:  # noqa: ARG001
    """Labels by a rule that statements' lengths give, as a folder's name."""
    generator = Rule(lambda statement, _: ("True", "False", "I don't know")[len(statement) % 3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGPROBE_HOME", home["KGPROBE_HOME"])
        with kgprobe.open_graph() as graph:
            model = Model("rule", generator=generator)
            options = {"times": 1, "limit": 90, "as_of": 20250101, "name": "ruled"}
            return str(kgprobe.measure(graph, model, "labels", **options).folder.name)


def test_from_labels_to_figures(home: dict[str, str], labels: str, talker: str) -> None:
    made = run("judge", "train", labels, "--model", talker, "--name", "mine", *QUICK, "--json", **home)
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    assert told["judge"].endswith("mine/judge.safetensors")
    assert told["layer"] in (1, 2)
    seen = run("judge", "evaluate", "mine", labels, "--model", talker, "--json", **home)
    assert seen.returncode == 0, seen.stderr
    assert json.loads(seen.stdout) == told["aside"]
    shown = run("judge", "evaluate", "mine", labels, "--model", talker, "--everything", **home)
    assert "Answers told right" in shown.stdout
    assert "that no judge has seen" in " ".join(shown.stdout.split())


def test_labels_are_asked_for(home: dict[str, str], talker: str) -> None:
    options = ("--limit", "2", "--times", "2", "--answer-tokens", "2", "--name", "two", "--as-of", "2025-12", "--json")
    done = run("judge", "label", "--model", talker, *options, **home)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["probe"], told["facts"], told["done"]) == ("labels", 2, 2)
    none = run("judge", "train", "two", *QUICK, **home)
    assert (none.returncode, "Traceback" in none.stderr) == (1, False)
    assert "no label" in none.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("train", "nowhere"), 1, "holds no measurement"),
        (("train", "ruled", "--aside", "1"), 2, "--aside is 1.0; a share between 0 and 1"),
        (("train", "ruled", "--words", "a/b"), 2, "--words is 'a/b'"),
        (("train", "ruled", "--epochs", "0"), 2, "--epochs"),
        (("evaluate", "nobody", "ruled"), 1, "kgprobe judge train"),
    ],
)
def test_what_cannot_be_is_told(
    home: dict[str, str],
    labels: str,  # noqa: ARG001
    talker: str,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    done = run("judge", *arguments, "--model", talker, **home)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert said in " ".join(done.stderr.split())
