"""Files that are whole or not there: errors, kills, a full disk."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kgprobe.base import files as module
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import appearing, disk_is_full, home, make_folder, replacing

KILLED = """
import os, signal, sys
from pathlib import Path
from kgprobe.base.files import appearing, replacing
with replacing(Path(sys.argv[1]), durable=True) as unfinished:
    unfinished.write_text("half of the ")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("durable", [False, True])
def test_file_takes_the_place_of_another_when_it_is_whole(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "file.txt"
    for text in ("old", "new"):
        before = path.read_text() if path.exists() else None
        with replacing(path, durable=durable) as unfinished:
            unfinished.write_text(text)
            assert unfinished.parent == path.parent
            assert (path.read_text() if path.exists() else None) == before
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), OSError("gone")])
def test_error_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    expected = KgprobeError if isinstance(error, OSError) else type(error)

    def write() -> None:
        with replacing(path) as unfinished:
            unfinished.write_text("half of the ")
            raise error

    with pytest.raises(expected):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_killed_writer_leaves_old_file_next_cleans_up(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    with replacing(path) as unfinished:
        unfinished.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_replacing_two_writers_of_one_path_both_finish(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with replacing(path) as second:
        with replacing(path) as first:
            second.write_text("second")
            first.write_text("first")
        assert path.read_text() == "first"
    assert path.read_text() == "second"
    assert list(tmp_path.iterdir()) == [path]


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "file.txt"
    with pytest.raises(KgprobeError, match="cannot be written: No such file") as raised, replacing(path) as unfinished:
        unfinished.write_text("new")
    assert str(path) in str(raised.value)
    (tmp_path / "folder").mkdir()
    with pytest.raises(KgprobeError, match="cannot be written"), replacing(tmp_path / "folder") as unfinished:
        unfinished.write_text("new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_replacing_on_read_only_disk_names_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    read_only = OSError(errno.EROFS, os.strerror(errno.EROFS))
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: (_ for _ in ()).throw(read_only))
    said = r"file\.txt cannot be written: Read-only file system\. Set KGPROBE_HOME to use another folder"
    with pytest.raises(KgprobeError, match=said), replacing(tmp_path / "file.txt"):
        raise read_only


def test_place_is_unusable_says_place_and_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    error = OSError(errno.EROFS, "Read-only file system", str(tmp_path / "lock"))
    said = f"{tmp_path / 'lock'} cannot be used: Read-only file system. Set KGPROBE_HOME to use another folder."
    assert module.place_is_unusable(error) == said
    assert module.place_is_unusable(OSError(errno.EROFS, "Read-only file system")) is None
    assert module.place_is_unusable(ConnectionResetError(errno.ECONNRESET, "reset", "peer")) is None


@pytest.mark.parametrize("free", [0, 2**40])
def test_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    usage = module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=free))
    assert (disk_is_full(tmp_path) is None) == bool(free)
    # Without a full disk it is something else that the error is about.
    said = "No space left" if free else f"The disk under {tmp_path} is full"
    with pytest.raises(KgprobeError, match=said), replacing(tmp_path / "file.txt"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_folder_appears_when_it_is_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with pytest.raises(KgprobeError, match="No such file"), appearing(folder) as unfinished:
        (unfinished / "one").read_text()
    assert not list(tmp_path.iterdir())
    folder.mkdir()
    with appearing(folder) as unfinished:
        (unfinished / "one").touch()
        assert not list(folder.iterdir())
    assert [path.name for path in tmp_path.rglob("*")] == ["index", "one"]
    with pytest.raises(KgprobeError, match="index cannot be written: "), appearing(folder) as unfinished:
        (unfinished / "two").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["index", "one"]


def test_appearing_deletes_only_leftovers_of_killed_processes(tmp_path: Path) -> None:
    owned = [tmp_path / "index.part", tmp_path / "index.mine.7.0.part"]
    for path in owned:
        path.mkdir()
        (path / "notes").touch()
    killed = "import sys, os, pathlib; from kgprobe.base.files import appearing\n"
    killed += "with appearing(pathlib.Path(sys.argv[1])) as path: (path / 'x').touch(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed, str(tmp_path / "index")], check=False)
    assert len(list(tmp_path.iterdir())) == 3
    with appearing(tmp_path / "index") as unfinished:
        assert sorted(tmp_path.iterdir()) == sorted([*owned, unfinished])
    assert sorted(tmp_path.iterdir()) == sorted([*owned, tmp_path / "index"])
    assert all((path / "notes").exists() for path in owned)


def test_users_folder_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "mine"))
    assert home() == tmp_path / "mine"
    assert not home().exists(), "it is not made by being asked for"
    monkeypatch.setenv("KGPROBE_HOME", "~/mine")
    assert home() == Path.home() / "mine"
    monkeypatch.delenv("KGPROBE_HOME")
    assert home().is_absolute()


def test_folder_is_made_with_parents_or_error_has_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "elsewhere"))
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(KgprobeError, match=r"file/b cannot be created: .*\.$") as raised:
        make_folder(tmp_path / "file" / "b")
    assert "KGPROBE_HOME" not in str(raised.value)
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "file"))
    with pytest.raises(KgprobeError, match="Set KGPROBE_HOME to use another folder"):
        make_folder(home() / "runs")


def test_folders_in_home_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "above" / "home"))
    (tmp_path / "above").mkdir(mode=0o755)
    make_folder(home() / "runs" / "one")
    made = [home(), home() / "runs", home() / "runs" / "one"]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in made] == [0o700] * 3
    # One that the user had before, and one that is the user's, stay as they are.
    home().chmod(0o755)
    make_folder(home())
    make_folder(tmp_path / "above" / "else")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home(), tmp_path / "above" / "else")] == [0o755] * 2
