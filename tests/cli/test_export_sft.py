"""`kgprobe export sft` as a user types it; the content of the files is tested in tests/labelling/exports."""

import json
import re
from pathlib import Path

import pytest

import kgprobe
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from tests.cli.inprocess import run, succeed
from tests.labelling.exports.sft.labels import write_example_labels


@pytest.fixture(scope="module")
def labels(home: dict[str, str], example_endpoint: Endpoint) -> str:
    """A label table in the user's own folder, by its name."""
    with Graph(example_endpoint) as graph:
        write_example_labels(graph, Path(home["KGPROBE_HOME"]) / "labels" / "made-up")
    return "made-up"


def test_counts_and_notes_are_shown(home: dict[str, str], labels: str, tmp_path: Path) -> None:
    folder = tmp_path / "sft"
    done = succeed("export", "sft", labels, "--teach", "unknown", "--form", "both", "-o", str(folder), **home)
    taught = kgprobe.read_manifest(folder).counts["taught"]
    assert f"{taught.facts:,}" in next(line for line in done.stdout.splitlines() if "taught" in line)
    assert "left out: some of its entities are held out." in done.stderr
    options = ("--held-out-by", "fact", "--weights", "unknown", "--json")
    shown = run("export", "sft", labels, "--teach", "weakly known", *options, "-o", str(tmp_path / "json"), **home)
    manifest = json.loads(shown.stdout)
    assert (manifest["options"]["held_out_by"], manifest["as_of"]) == (["fact"], 20251231)
    assert set(manifest["counts"]) == {"taught", "held out by fact"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nowhere", "--teach", "unknown"), 2, "No label table is named 'nowhere'"),
        (("made-up",), 2, "Missing option '--teach'"),
        (("made-up", "--teach", "recalled"), 2, "--teach has recalled, without a fact in made-up"),
        (("made-up", "--teach", "unknown", "--known-share", "0.9"), 2, "Lower --known-share or --limit"),
        (("made-up", "--teach", "unknown", "--controls", "nowhere"), 2, "nowhere"),
    ],
)
@pytest.mark.usefixtures("labels")
def test_wrong_arguments_are_named(
    home: dict[str, str], tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = run("export", "sft", *arguments, "-o", str(tmp_path / "sft"), **home)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert message in " ".join(done.stderr.split())


def test_examples_of_the_help_have_folders_of_their_own() -> None:
    folders = re.findall(r" -o (\w+)", run("export", "sft", "--help").stdout)
    assert len(folders) == len(set(folders)) == 3


def test_folder_of_another_export_is_refused(home: dict[str, str], labels: str, tmp_path: Path) -> None:
    command = ("export", "sft", labels, "--teach", "unknown", "--limit", "20", "-o", str(tmp_path / "sft"))
    assert run(*command, **home).returncode == 0
    assert run(*command, **home).returncode == 0
    other = run(*command, "--seed", "1", **home)
    assert (other.returncode, "--output is" in other.stderr) == (2, True), other.stderr
