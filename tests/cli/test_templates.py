"""The templates commands as a user types them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.graph.servers import kgprobe

HEAVY = ("torch", "transformers", "neo4j", "rich", "numpy")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user's own folder."""
    return {"KGPROBE_HOME": str(tmp_path_factory.mktemp("home")), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def sample(home: dict[str, str]) -> object:
    """The sample graph, on a server that runs from test to test."""
    assert kgprobe("graph", "start", "--memory", "512m", **home).returncode == 0
    loaded = kgprobe("load", "sample", **home)
    assert loaded.returncode == 0, loaded.stderr
    yield
    assert kgprobe("graph", "stop", "--force", **home).returncode == 0


@pytest.mark.parametrize("command", ["templates", "templates list", "templates check"])
def test_help_loads_nothing_heavy(command: str) -> None:
    program = (
        "import sys\n"
        "from kgprobe.cli.main import kgprobe\n"
        "kgprobe([*sys.argv[1:], '--help'], standalone_mode=False)\n"
        f"print('loaded:', [name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *command.split()], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("loaded: []\n")


@pytest.mark.usefixtures("sample")
def test_list_fills_templates_with_facts(home: dict[str, str]) -> None:
    done = kgprobe("templates", "list", "--relation", "P36", "--as-of", "2024", "--json", **home)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["kind"] for row in rows] == ["cloze"] * 3 + ["past_cloze"] * 3 + [
        "statement",
        "yes_no_question",
        "wh_question",
    ]
    assert {(row["relation"], row["label"]) for row in rows} == {("P36", "capital")}
    assert rows[0]["template"] == "The capital of [X] is [Y]"
    assert rows[0]["sentence"].startswith("The capital of ")
    shown = kgprobe("templates", "list", "--relation", "P36", "--as-of", "2024", **home)
    assert "The capital of" in shown.stdout
    unknown = kgprobe("templates", "list", "--relation", "P9", **home)
    assert (unknown.returncode, unknown.stderr) == (2, "Error: The graph has no relation P9.\n")


@pytest.mark.usefixtures("sample")
def test_check_of_a_graph(home: dict[str, str]) -> None:
    done = kgprobe("templates", "check", **home)
    assert done.returncode == 0, done.stderr
    assert "117 templates of 15 relations: 0 errors, 1 warning." in done.stdout
    found = json.loads(kgprobe("templates", "check", "--json", **home).stdout)
    assert found.keys() == {"relations", "templates", "flaws", "without_clozes", "errors"}
    assert [flaw["template"] for flaw in found["flaws"]] == ["[X] rose to high office as a politician of [Y]"]


def test_check_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "relations.jsonl"
    path.write_text(json.dumps({"id": "P1", "clozes": ["The the head of [X] is [Y]"]}) + '\n{"id": "P2"}\n')
    # No graph is needed.
    done = kgprobe("templates", "check", str(path), KGPROBE_GRAPH="bolt://127.0.0.1:1")
    assert done.returncode == 1
    assert "1 template of 2 relations: 1 error, 0 warnings." in done.stdout
    assert "Without a cloze: 1 relation (P2)" in done.stdout
    assert "Traceback" not in done.stderr
    found = json.loads(kgprobe("templates", "check", str(path), "--json").stdout)
    assert (found["errors"], found["flaws"][0]["problem"]) == (1, "has two determiners in a row: 'The the'")
    missing = kgprobe("templates", "check", str(tmp_path / "none.jsonl"))
    assert (missing.returncode, "none.jsonl" in missing.stderr, "Traceback" in missing.stderr) == (1, True, False)
