"""Temporary folders are deleted at their end, or by the next command where a process was killed."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.temporary import delete_left_folders, temporary_folder

# Fills a folder, says so, and waits.
HELD = """
import sys
from kgprobe.base.temporary import temporary_folder
with temporary_folder("held") as folder:
    (folder / "file").write_text("content")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary folders."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    return tmp_path / "temporary"


def left(below: Path) -> list[str]:
    return sorted(path.name for path in below.iterdir() if path.name != "lock")


def test_temporary_folder_is_deleted_at_its_end(below: Path) -> None:
    with temporary_folder("one") as folder:
        assert (folder.parent, list(folder.iterdir())) == (below, [])
        (folder / "deep").mkdir()
    assert left(below) == []


def test_temporary_folder_is_deleted_after_an_error(below: Path) -> None:
    with pytest.raises(FileNotFoundError), temporary_folder("one") as folder:
        (folder / "missing").read_bytes()
    assert left(below) == []


def test_delete_left_folders_keeps_those_of_live_processes(below: Path) -> None:
    delete_left_folders()
    held = subprocess.Popen([sys.executable, "-c", HELD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert held.stdout is not None
    folder = Path(held.stdout.readline().strip())
    with temporary_folder("own") as own:
        delete_left_folders()
        assert (folder / "file").exists()
        os.kill(held.pid, signal.SIGKILL)
        held.communicate()
        assert folder.is_dir()
        delete_left_folders()
        assert left(below) == [own.name, f"{own.name}.lock"]


def test_temporary_folder_made_deletes_what_was_left(below: Path) -> None:
    below.mkdir()
    (below / "old-1-abc").mkdir()
    (below / "old-1-abc.lock").touch()
    with temporary_folder("new"):
        assert not (below / "old-1-abc").exists()


def test_temporary_folder_many_at_once_disturb_no_other(below: Path) -> None:
    def fill(number: int) -> str:
        with temporary_folder("many") as folder:
            (folder / "file").write_text(str(number))
            delete_left_folders()
            return (folder / "file").read_text()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fill, range(40))) == [str(number) for number in range(40)]
    assert left(below) == []


def test_temporary_folder_where_none_can_be_made_names_the_place(below: Path) -> None:
    below.mkdir()
    (below / "lock").mkdir()
    with (
        pytest.raises(KgprobeError, match=r"cannot be created: .* Set KGPROBE_HOME to use another folder"),
        temporary_folder("a"),
    ):
        pass
    delete_left_folders()
    (below / "lock").rmdir()
    below.rmdir()
    below.write_text("a file")
    with pytest.raises(KgprobeError, match="cannot be created"), temporary_folder("one"):
        pass
    delete_left_folders()
