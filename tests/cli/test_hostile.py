"""A user's mistakes, and those of whoever wrote a file, end in a message: never in an internal error."""

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kgprobe.graph.endpoint import Endpoint
from tests.cases import slow_except
from tests.cli.inprocess import Completed, run
from tests.graph.servers.shared import environment_of


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, add_graph: Callable[[], Endpoint]) -> dict[str, str]:
    """An example graph that other files do not see: some of what is loaded here is strange."""
    own = {"KGPROBE_HOME": str(tmp_path_factory.mktemp("home")), "OMP_NUM_THREADS": "1"}
    own |= environment_of(add_graph())
    assert run("load", "example", **own).returncode == 0
    return own


def is_message(done: Completed) -> bool:
    """Return whether a command has ended with a message for its user."""
    assert done.returncode in (1, 2), (done.returncode, done.stdout, done.stderr)
    assert "--debug shows where" not in done.stderr, done.stderr[:2000]
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in done.stderr.replace("\n", ""))
    return bool(done.stderr.strip())


FACTS = "subject\trelation\tobject\nQ142\tP36\tQ90\n"
OTHERS = {
    "gzip": gzip.compress(FACTS.encode()),
    "utf-16": FACTS.encode("utf-16"),
    "latin-1": FACTS.encode() + "Q142\tP36\tÉ\n".encode("latin-1"),
    "deep": b'{"subject": ' + b"[" * 10_000,
    "null": b"\0\0\0\x1b[2J",
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize(
    "command",
    [
        ("load", "table", "FILE"),
        ("load", "wikidata", "FILE"),
        ("sample", "facts", "--facts", "FILE"),
        ("probe", "distractors", "--model", "MODEL", "--facts", "FILE"),
        ("study", "robustness", "FILE", "--model", "MODEL"),
        ("study", "calibration", "FILE", "--model", "MODEL"),
        ("templates", "list", "--check", "FILE"),
        ("templates", "write", "--patterns", "FILE"),
    ],
    ids=" ".join,
)
@pytest.mark.representatives(5)
def test_file_of_another_kind_is_a_message(
    home: dict[str, str], model: str, tmp_path: Path, command: tuple[str, ...], kind: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(OTHERS[kind])
    named = {"FILE": str(file), "MODEL": model}
    done = run(*(named.get(word, word) for word in command), **home)
    # A packed table is read as such; what a list has beside its bad lines is used.
    # What is wrong with templates is a table.
    assert done.returncode == 0 or done.stdout or is_message(done)
    assert "\x1b" not in done.stdout + done.stderr
    assert "--debug shows where" not in done.stderr


@pytest.mark.parametrize("name", slow_except(["[bold]", "[x", "a[/x]b", "\x1b[31m"], ["a[/x]b", "\x1b[31m"]))
def test_markup_in_the_name_of_a_model_is_a_name(home: dict[str, str], model: str, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name.replace("/", "⁄") / name.split("/")[-1]
    shutil.copytree(model.removeprefix("hf:"), folder)
    for spec in (f"hf:{folder}", f"hf:./{name}", name, f"openai:{name}@http://{name}/v1"):
        done = run("probe", "distractors", "--model", spec, "--limit", "2", **home)
        assert done.returncode == 0 or is_message(done)


@pytest.fixture(params=["file", "below a file", "read-only"])
def no_home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path that cannot be a user's folder."""
    place = tmp_path / "place"
    if request.param == "read-only":
        if os.geteuid() == 0:
            pytest.skip("root may write to a read-only folder")
        place.mkdir(mode=0o500)
        return place / "home"
    place.write_text("a file")
    return place if request.param == "file" else place / "home"


@pytest.mark.parametrize("variable", ["KGPROBE_HOME", "HOME", "XDG_DATA_HOME"])
@pytest.mark.representatives(2)
def test_commands_without_a_home_folder_end_with_an_error(
    no_home: Path, variable: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KGPROBE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for command in (
        ("graph", "start"),
        ("load", "example"),
        ("demo",),
        ("probe", "distractors", "--model", model),
        ("rounds", "run", "distractors", "--model", model),
        ("study", "sampling"),
        ("graph", "query", "explore/counts"),
    ):
        assert is_message(run(*command, **{variable: str(no_home)}))
    for command in (("graph", "status"), ("graph", "stop"), ("graph", "query")):
        done = run(*command, **{variable: str(no_home)})
        assert done.returncode == 0 or is_message(done)
