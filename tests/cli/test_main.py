"""The root command: what holds for every sub-command."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kgprobe.graph.endpoint import Endpoint
from tests.cli.inprocess import succeed
from tests.cli.test_help import ALL
from tests.graph.servers.servers import clean_environment
from tests.graph.servers.shared import environment_of

HEAVY = ("torch", "transformers", "neo4j", "pandas", "scipy", "sklearn", "networkx", "openai", "rich", "numpy")


def exit_without_reader(*arguments: str, read: int = 0, **environment: str) -> tuple[int, str]:
    """Run a command whose stdout is a pipe that is left after so many bytes, none: before the command begins."""
    reader, writer = os.pipe()
    if not read:
        os.close(reader)
    process = subprocess.Popen(
        [sys.executable, "-m", "kgprobe", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment() | environment,
    )
    os.close(writer)
    if read:
        assert len(os.read(reader, read)) == read
        os.close(reader)
    _, said = process.communicate(timeout=300)
    return process.returncode, said


COMMANDS = [
    *["", "demo", "graph", "graph start", "graph stop", "graph status", "graph query", "graph shell"],
    *["load", "load dbpedia", "load example", "load rdf", "load sparql", "load table", "load wikidata"],
    *["probe", "probe distractors", "probe questions"],
    *["delete", "show", "rounds", "rounds resume", "rounds run", "rounds run questions", "results"],
    *["sample", "sample distractors", "sample facts", "sample negatives", "sample questions"],
    *["study", "study strategies", "study distractor-count", "study sentences", "study scaling"],
    *["study robustness", "study calibration", "study sampling"],
    *["templates", "templates list", "templates write"],
]


def test_help_of_each_command_loads_nothing_heavy() -> None:
    # One process for all: a module that any of them loads stays.
    program = (
        "import sys\n"
        "from kgprobe.cli.main import kgprobe\n"
        f"for command in {COMMANDS}:\n"
        "    kgprobe([*command.split(), '--help'], standalone_mode=False)\n"
        f"    print('after', repr(command), [name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = [line for line in done.stdout.splitlines() if line.startswith("after ")]
    assert loaded == [f"after {command!r} []" for command in COMMANDS]
    assert done.stdout.count("Usage: ") == len(COMMANDS)


def test_list_of_results_loads_neither_driver_nor_statistics(tmp_path: Path) -> None:
    folder = tmp_path / "probes" / "capitals"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"probe": "choices", "described": {"model": "hf:tiny"}, "graph": "{}"}')
    program = (
        "import sys\n"
        "from kgprobe.cli.main import kgprobe\n"
        "kgprobe(['results'], standalone_mode=False)\n"
        "print([name for name in ('neo4j', 'pandas', 'scipy', 'pyarrow', 'torch') if name in sys.modules])\n"
    )
    environment = clean_environment() | {"KGPROBE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert "capitals  measurement" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["graph", "query", "--help"]])
def test_nobody_reads_the_help(arguments: list[str]) -> None:
    assert exit_without_reader(*arguments) == (0, "")


@pytest.mark.parametrize(("form", "read"), [("jsonl", 0), pytest.param("csv", 1, marks=pytest.mark.slow)])
def test_reader_that_leaves_is_no_failure(endpoint: Endpoint, tmp_path: object, form: str, read: int) -> None:
    # More than a pipe holds, so that the command still writes when the reader has left.
    query = f"{tmp_path}/many.cypher"
    with open(query, "w", encoding="utf-8") as file:
        file.write("UNWIND range(1, 4000) AS n RETURN n, 'some words that fill the pipe' AS words")
    found = exit_without_reader(
        "graph", "query", query, "--format", form, "--limit", "4000", read=read, **environment_of(endpoint)
    )
    assert found == (0, "")


@pytest.mark.slow
def test_few_bytes_that_nobody_reads_are_no_failure(example_endpoint: Endpoint) -> None:
    arguments = ("graph", "query", "explore/counts", "--format", "table")
    assert exit_without_reader(*arguments, **environment_of(example_endpoint)) == (0, "")


@pytest.mark.slow
def test_failure_stays_one_without_a_reader() -> None:
    code, said = exit_without_reader("graph", "query", "nonsense/name", KGPROBE_GRAPH="bolt://127.0.0.1:9")
    assert (code, "no query or file" in said) == (2, True)


def test_help_all_of_a_run_is_in_groups() -> None:
    text = succeed("rounds", "run", "distractors", "--help-all").stdout
    titles = ["Rounds:", "Options of distractors:", "Options:", "Models on this machine:", "Models behind an API:"]
    places = [text.index(f"\n{title}\n") for title in titles]
    sections = {"--facts-per-round ": 0, "--former ": 1, "--name ": 2, "--dtype ": 3, "--timeout ": 4}
    for option, section in sections.items():
        place = text.index(f"\n  {option}")
        assert [start < place for start in places] == [number <= section for number in range(len(titles))], option
    assert "--grader" not in text


def test_flag_is_the_same_thing_wherever_it_stands() -> None:
    def what(option: click.Option) -> str:
        kind = option.type
        if option.is_flag:
            return "yes or no"
        numbers = isinstance(kind, (click.types.IntParamType, click.types.FloatParamType))
        files = isinstance(kind, (click.File, click.Path)) or "--output" in option.opts
        return "a number" if numbers else "a file" if files else "a text"

    meanings: dict[str, set[str]] = {}
    for _, command, context in ALL:
        for option in command.get_params(context):
            if isinstance(option, click.Option):
                for flag in option.opts:
                    meanings.setdefault(flag, set()).add(what(option))
    assert {flag: found for flag, found in meanings.items() if len(found) > 1} == {}
    assert not {"-n", "--sample"} & meanings.keys()
    assert (meanings["--facts"], meanings["--limit"], meanings["--beams"]) == ({"a file"}, {"a number"}, {"a number"})


def test_where_a_model_is_named_it_can_be_said_how_it_is_loaded() -> None:
    flags = {
        path: {flag for option in command.get_params(context) for flag in option.opts} for path, command, context in ALL
    }
    named = {path for path, its in flags.items() if "--model" in its}
    assert len(named) > 8
    how = {"--device", "--dtype", "--batch-tokens", "--revision"}
    assert {path: how - flags[path] for path in named if not how <= flags[path]} == {}


def test_help_is_whole_and_fits_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from kgprobe.cli.main import kgprobe as root

    monkeypatch.setenv("COLUMNS", "80")
    groups = {path.rpartition(" ")[0] for path, _, _ in ALL}
    for path in sorted({path for path, _, _ in ALL} | groups):
        root([*path.split(), "--help"], standalone_mode=False)
        shown = capsys.readouterr().out
        # A row of a table cannot be folded.
        lines = [line for line in shown.splitlines() if not line.lstrip().startswith("\"('")]
        assert [line for line in lines if len(line) > 80] == [], path
        cut = [line for line in lines if line.rstrip().endswith(("...", "…")) and not line.startswith("Usage")]
        assert cut == [], path


CHECK = """
import click
from importlib import import_module
from kgprobe.base.errors import KgprobeError

@click.command()
def fail():
    for number in range(100_000):
        click.echo(f"line {number}")
    raise KgprobeError("The check failed.")

main = import_module("kgprobe.cli.main")
main.COMMANDS = {"fail": ("__main__:fail", "Fail.")}
main.main()
"""


def test_pipe_that_ends_early_keeps_the_exit_code() -> None:
    command = [sys.executable, "-c", CHECK, "fail"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"line 0\n"
        process.stdout.close()
        assert process.stderr.read() == b"Error: The check failed.\n"
    assert process.returncode == 1
