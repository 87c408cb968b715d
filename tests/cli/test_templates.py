"""The templates commands as a user types them; what they find is tested in tests/api/test_templates.py."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgprobe.graph.endpoint import Endpoint
from tests.cli.inprocess import run, succeed
from tests.graph.servers.shared import environment_of
from tests.models.api.fault_proxy import FaultProxy


def test_templates_list_as_table_and_json(home: dict[str, str]) -> None:
    options = ("templates", "list", "--relation", "P36", "--as-of", "2024")
    rows = [json.loads(line) for line in run(*options, "--json", **home).stdout.splitlines()]
    assert rows[0]["template"] == "The capital of [X] is [Y]"
    assert rows[0]["template"].partition(" [X]")[0] in run(*options, **home).stdout


def test_templates_check_exit_code_follows_errors(home: dict[str, str], tmp_path: Path) -> None:
    done = run("templates", "list", "--check", "--json", **home)
    assert (done.returncode, json.loads(done.stdout)["errors"]) == (0, 0), done.stderr
    path = tmp_path / "relations.jsonl"
    path.write_text(json.dumps({"id": "P1", "clozes": ["The the head of [X] is [Y]"]}))
    # No graph is needed.
    done = run("templates", "list", str(path), "--check", "--json", KGPROBE_GRAPH="bolt://127.0.0.1:1")
    assert (done.returncode, json.loads(done.stdout)["errors"]) == (1, 1)
    without_check = run("templates", "list", str(path))
    assert (without_check.returncode, "FILE is for --check" in without_check.stderr) == (2, True)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, add_graph: Callable[[], Endpoint]) -> dict[str, str]:
    """A user's own folder, with a graph whose relations have no cloze."""
    return load_bare(tmp_path_factory.mktemp("bare"), add_graph())


def load_bare(folder: Path, endpoint: Endpoint) -> dict[str, str]:
    """Load relations without templates into a graph, and return the environment of its user."""
    home = {"KGPROBE_HOME": str(folder / "home"), **environment_of(endpoint)}
    relations = [{"id": "R1", "label": "twin town"}, {"id": "R2"}]
    (folder / "r.jsonl").write_text("".join(json.dumps(relation) + "\n" for relation in relations))
    entities = [{"id": f"Q{n}", "label": f"Town {n}"} for n in range(4)]
    (folder / "e.jsonl").write_text("".join(json.dumps(entity) + "\n" for entity in entities))
    (folder / "f.tsv").write_text("subject\trelation\tobject\nQ0\tR1\tQ1\nQ2\tR2\tQ3\n")
    files = {"entities": "e.jsonl", "relations": "r.jsonl", "facts": "f.tsv"}
    options = [f"--{name}={folder / file}" for name, file in files.items()]
    loaded = run("load", "table", *options, **home)
    assert (loaded.returncode, "2 facts" in loaded.stdout) == (0, True), loaded.stderr
    return home


def test_templates_write_continues_or_overwrites(bare: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    options = ("templates", "write", "--from-label", "-o", str(path))
    first = succeed(*options, **bare, COLUMNS="200")
    assert f"6 templates of 1 relation, written to {path}." in first.stdout
    assert first.stderr == "R2 (R2): it has no label.\n1 relation still without new templates.\n"
    again = run(*options, "--json", **bare)
    assert json.loads(again.stdout)["kept"] == 1
    assert f"{path} has 1 relation already; --force overwrites it." in again.stderr
    anew = json.loads(run(*options, "--force", "--load", "--json", **bare).stdout)
    relations = {row["relation"] for row in anew["templates"]}
    assert (anew["loaded"], anew["kept"], relations) == (True, 0, {"R1"})


def test_write_says_why_a_model_wrote_nothing(bare: dict[str, str], model: str, tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    done = run("templates", "write", "--model", model, "-o", str(path), "--relation", "R2", "--json", **bare)
    assert (done.returncode, path.read_text()) == (1, "")
    [failed] = json.loads(done.stdout)["failed"]
    assert failed["relation"] == "R2"
    assert "longer than the 256 that the model accepts" in failed["reason"]
    assert "Error: No template could be written" in done.stderr
    both = run("templates", "write", "--model", model, "--from-label", **bare)
    assert (both.returncode, "--model or --from-label is expected, exactly one of them" in both.stderr) == (2, True)


TWIN = """\
Sentence: The twin town of [X] is [Y].
Statement: [Y] is the twin town of [X].
Yes/no question: Is [Y] the twin town of [X]?
Wh-question: Twin town [X] is what?
"""


def answer(prompt: str) -> str:
    """Return templates, or a positive second reading."""
    return TWIN if prompt.startswith("Write") else "Yes, it does."


def test_write_by_an_api_model_resumes_after_a_spent_budget(add_graph: Callable[[], Endpoint], tmp_path: Path) -> None:
    bare = load_bare(tmp_path, add_graph())
    path = tmp_path / "templates.jsonl"
    with FaultProxy(upstream=answer) as proxy:
        command = ("templates", "write", "--model", f"openai:m@{proxy.url}", "-o", str(path), "--relation", "R1")
        options = ("--proposals", "2", "--concurrency", "1")
        short = run(*command, *options, "--max-tokens", "3000", **bare)
        assert (short.returncode, path.read_text()) == (1, ""), short.stderr
        assert "Finished relations are in the file; repeat the command to continue." in short.stderr
        paid = len(proxy.seen)
        assert paid > 0
        done = succeed(*command, *options, **bare, COLUMNS="250")
        # Answers of the first call are cached: two to the same prompt with different seeds, one to each reading.
        bodies = [json.dumps(seen.body, sort_keys=True) for seen in proxy.seen]
        assert len(set(bodies)) == len(bodies) > paid
        assert "To look through" in done.stdout
        asked = len(proxy.seen)
        again = json.loads(run(*command, *options, "--json", **bare).stdout)
        assert (again["templates"], again["kept"], len(proxy.seen)) == ([], 1, asked)


def test_templates_write_in_a_language_needs_names_in_it(bare: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    done = run("templates", "write", "--from-label", "--ask-in", "de", "-o", str(path), **bare)
    assert (done.returncode, path.exists()) == (2, False)
    assert "--ask-in is 'de'; this graph has no loads with a language" in done.stderr


def test_templates_write_from_patterns_reports_problems(tmp_path: Path) -> None:
    source, path = tmp_path / "P19.jsonl", tmp_path / "templates.jsonl"
    source.write_text('{"pattern": "[X] was born in [Y] ."}\n' + '{"pattern": 1}\n' * 33)
    options = ("templates", "write", "--patterns", str(source), "-o", str(path))
    done = run(*options, "--json")
    assert (done.returncode, len(json.loads(done.stdout)["notes"])) == (0, 33)
    assert done.stderr.count("a text is expected") == 20
    assert done.stderr.endswith("… and 13 more.\n")
    again = run(*options)
    assert again.returncode == 1
    assert f"{path} exists; --force overwrites it, --output names another file." in again.stderr
    seeded = run(*options, "--keep", "2")
    assert (seeded.returncode, "--keep has no effect with --patterns and --mined" in seeded.stderr) == (2, True)
