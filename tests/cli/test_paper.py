"""``kgprobe paper`` and ``--as-paper`` as a user types them, and the commands that repeat the papers' tables."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from kgprobe.cli.groups import DefaultGroup
from kgprobe.cli.main import kgprobe as command_line
from kgprobe.papers.presets import PRESETS
from kgprobe.papers.tables import PaperEntry, all_tables, filled
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed

SCORES = [("Q17", "Q1490"), ("Q142", "Q90"), ("Q183", "Q64"), ("Q38", "Q220"), ("Q29", "Q2807"), ("Q96", "Q1489")]
CORRECTIONS = """triples_raw,triples,context,verbalization,errors,correction
"('Q17', 'P36', 'Q1490')","(Japan, capital, Tokyo, start=None, end=None)",present,capital of Japan is Tokyo,sub_deter,\
The capital of Japan is Tokyo
"('Q142', 'P36', 'Q90')","(France, capital, Paris, start=None, end=None)",present,capital of France is Paris,sub_deter,\
The capital of France is Paris
"""
WITH_COMMANDS = [entry for entry in all_tables() if entry.command]
# Figures that take seconds, for the normal run.
FAST = [("distractors", "table-5"), ("kglens", "table-1"), ("grapheval", "table-5")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that commands of the papers read."""
    folder = tmp_path_factory.mktemp("files")
    scores = [
        {"subject": subject, "relation": "P36", "object": object_, "human_score": number / 10}
        for number, (subject, object_) in enumerate(SCORES)
    ]
    (folder / "human_scores.json").write_text(json.dumps(scores))
    (folder / "verbalization_errors.csv").write_text(CORRECTIONS)
    (folder / "lpaq.jsonl").write_text("")
    (folder / "T-Rex-MC").mkdir()
    for annotator in ("one", "two", "three"):
        (folder / f"{annotator}.csv").write_text("")
    return folder


@pytest.fixture
def working_folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with these files; commands that ran before have left theirs."""
    monkeypatch.chdir(files)


def steps_of(command: str) -> Iterator[list[str]]:
    """Yield the arguments of each `kgprobe …` of a command."""
    for step in command.split(" && "):
        first, *arguments = shlex.split(step)
        assert first == "kgprobe"
        yield arguments


def parsed(arguments: list[str]) -> click.Context:
    """Return the context of a command line, as before it runs."""
    command: click.Command = command_line
    context = click.Context(command, info_name="kgprobe")
    rest = list(arguments)
    while isinstance(command, click.Group):
        if isinstance(command, DefaultGroup) and (not rest or rest[0] not in command.commands):
            rest.insert(0, command.default)
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command = found
        if not isinstance(command, click.Group):
            return command.make_context(name, rest, parent=context)
        context = click.Context(command, parent=context, info_name=name)
    raise AssertionError(arguments)


@pytest.mark.parametrize("entry", WITH_COMMANDS, ids=lambda entry: f"{entry.paper}-{entry.table}")
@pytest.mark.usefixtures("working_folder")
def test_commands_of_a_table_parse(entry: PaperEntry) -> None:
    for command in (filled(entry.command, "demo", "hf:small"), entry.full):
        for arguments in steps_of(command):
            parsed(arguments)


PRESET_COMMANDS = [(paper, command) for paper, presets in PRESETS.items() for command in presets]
# Arguments that a command requires.
REQUIRED = {
    "study calibration": ["human_scores.json"],
    "study robustness": ["verbalization_errors.csv"],
    "dataset build": ["data"],
    "dataset probe": ["data"],
    "dataset export": ["data", "tasks"],
    "judge train": ["labels"],
    "judge predict": ["judge"],
}
WITHOUT_MODEL = {"load sparql", "study sampling", "dataset build", "dataset export", "judge train", "judge predict"}


@pytest.mark.parametrize(("paper", "command"), PRESET_COMMANDS)
@pytest.mark.usefixtures("working_folder")
def test_as_paper_sets_every_option(paper: str, command: str) -> None:
    words = command.split() if command != "rounds run" else ["rounds", "run", "distractors"]
    model = [] if command in WITHOUT_MODEL else ["--model", "demo"]
    context = parsed([*words, *REQUIRED.get(command, []), *model, "--as-paper", paper])
    for name, option in PRESETS[paper][command].options.items():
        assert context.params[name] == option.value, name


def test_given_option_wins_and_both_are_shown_and_stored(home: dict[str, str], model: str) -> None:
    command = ["probe", "examples", "--model", model, "--limit", "1", "--json", "--name", "as-in-the-paper"]
    options = ["--examples", "3", "--choices", "100", "--relation", "capital"]
    done = succeed(*command, *options, "--as-paper", "latent-knowledge", **home)
    config = json.loads(done.stdout)["config"]
    assert (config["examples"], config["choices"]) == (3, 100)
    assert (
        "As in the paper latent-knowledge: --separator ' ' --between ' ' --choices 100 --prompt examples" in done.stderr
    )
    assert "As given, not as in the paper: --examples" in done.stderr
    assert "EIC-LKE" in done.stderr


def test_easy_is_as_in_the_paper_and_hard_needs_a_grader(home: dict[str, str], model: str) -> None:
    command = ["probe", "questions", "--model", model, "--limit", "1", "--answer-tokens", "4", "--as-paper", "kglens"]
    for arguments in (command, ["rounds", "run", "questions", "--model", model, "--as-paper", "kglens"]):
        refused = kgprobe(*arguments, **home)
        assert (refused.returncode, "give --grader SPEC" in refused.stderr) == (2, True)
    # The context of the tiny model is too short for an answer.
    easy = kgprobe(*command, "--difficulty", "easy", **home)
    assert "As in the paper kglens: --difficulty easy --credit any" in easy.stderr
    assert "not as in the paper" not in easy.stderr
    hard = kgprobe(*command, "--grader", model, **home)
    assert "As in the paper kglens: --difficulty hard" in hard.stderr
    other = kgprobe(*command, "--grader", model, "--difficulty", "open", **home)
    assert "As given, not as in the paper: --difficulty" in other.stderr


def test_paper_lists_papers_then_tables(home: dict[str, str]) -> None:
    listed = succeed("paper", **home, COLUMNS="80")
    assert re.search("^ *latent-knowledge  .*[0-9]", listed.stdout, re.MULTILINE)
    assert "latent-knowledge: Towards Reliable Latent Knowledge" in listed.stdout
    contents = kgprobe("paper", "distractors", "--first-model", "hf:gpt2", **home)
    assert "table-4  Robustness of measures to errors in sentences" in contents.stdout
    assert "    $ kgprobe study strategies --model hf:gpt2 " in contents.stdout
    rows = json.loads(kgprobe("paper", "kglens", "--json", **home).stdout)["entries"]
    assert len(rows) == 15
    assert kgprobe("paper", "kglen", **home).returncode == 2
    assert "--replicate needs NAME and TABLE" in kgprobe("paper", "--replicate", **home).stderr


def test_paper_shows_a_table_with_its_commands(home: dict[str, str]) -> None:
    shown = succeed("paper", "distractors", "table-4", **home)
    assert "0.92" in shown.stdout
    assert "Full size  $ kgprobe study calibration human_scores.json" in shown.stdout
    content = json.loads(kgprobe("paper", "distractors", "table-4", "--json", **home).stdout)
    assert {row["row"]: row["number"] for row in content["numbers"]}["LLM judge"] == 0.58
    refused = kgprobe("paper", "distractors", "table-1", "--replicate", **home)
    assert (refused.returncode, "has no command: definition" in refused.stderr) == (1, True)


@pytest.mark.usefixtures("working_folder")
def test_robustness_takes_configurations_of_calibration(home: dict[str, str], model: str) -> None:
    common = ["--model", model, "--as-paper", "distractors", "--strategy", "random", "--json"]
    few = ["--distractors", "5", "--beams", "2", "--beams", "3"]
    calibrated = json.loads(succeed("study", "calibration", "human_scores.json", *common, *few, **home).stdout)
    command = ["study", "robustness", "verbalization_errors.csv", *common]
    done = succeed(*command, **home)
    assert "As in the paper distractors: --calibration latest" in done.stderr
    robust = json.loads(done.stdout)
    best = [row for row in calibrated["configurations"] if row["measure"] == "rouge-l"]
    assert robust["config"]["beams"] == sorted({row["beams"] for row in best})
    assert robust["config"]["best"].keys() == {row["measure"] for row in calibrated["table"]}
    assert max(robust["config"]["counts"]) == 5
    for name in ("karr", "continuation", "several_tokens", "articles"):
        assert robust["config"][name] == PRESETS["distractors"]["study calibration"].options[name].value
    assert {row["measure"] for row in robust["table"]} == robust["config"]["best"].keys()
    refused = kgprobe(*command, "--beams", "1", **home)
    assert (refused.returncode, "--beams is (1,), but the calibration needs" in refused.stderr) == (2, True)


def test_replicate_without_a_graph_names_the_load(tmp_path: Path) -> None:
    home = {"KGPROBE_HOME": str(tmp_path)}
    shown = succeed("paper", "kglens", "table-1", **home)
    refused = kgprobe("paper", "kglens", "table-1", "--replicate", **home)
    missing = "There is no graph for the small commands yet. First: `kgprobe load example`.\n"
    assert shown.stderr == missing
    assert (refused.returncode, refused.stderr) == (1, f"Error: {missing}")


@pytest.mark.slow
def test_replicate_repeats_a_table(home: dict[str, str]) -> None:
    done = succeed("paper", "grapheval", "table-1", "--replicate", "--json", **home)
    assert "$ kgprobe graph status --size" in done.stderr
    assert json.loads(done.stdout)["numbers"][0]["value"] == "4928232"


def run_steps(command: str, home: Mapping[str, str], done: set[str]) -> None:
    """Run the commands of a table; each only once in a session."""
    for arguments in steps_of(command):
        line = shlex.join(arguments)
        if line not in done:
            succeed(*arguments, **home)
            done.add(line)


@pytest.fixture(scope="module")
def run_before() -> set[str]:
    """Commands that ran in this module."""
    return set()


@pytest.mark.parametrize(("paper", "table"), FAST)
@pytest.mark.usefixtures("working_folder")
def test_table_is_repeated(paper: str, table: str, home: dict[str, str], model: str, run_before: set[str]) -> None:
    (entry,) = (entry for entry in WITH_COMMANDS if (entry.paper, entry.table) == (paper, table))
    run_steps(filled(entry.command, model, model), home, run_before)
