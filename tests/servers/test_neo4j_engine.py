"""Neo4j from Maven Central: one life of a server, from its first start to its last stop, through the command line."""

import json
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from kgprobe import progress
from kgprobe.errors import KgprobeError
from kgprobe.servers import neo4j_engine
from kgprobe.servers.folder import Folder
from tests.cli.inprocess import run as kgprobe
from tests.conftest import require_engine
from tests.servers.servers import servers_on


@pytest.mark.slow
def test_a_neo4j_from_first_start_to_stop(tmp_path: Path) -> None:
    require_engine("neo4j")
    folder = Folder(tmp_path / "graph")
    at = ("--graph", str(folder.path))
    seen: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            for process in psutil.process_iter(["cmdline"]):
                seen.add(" ".join(process.info["cmdline"] or ()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        started = kgprobe("graph", "start", "--engine", "neo4j", "--memory", "1g", *at)
    finally:
        done.set()
        watcher.join()
    try:
        assert started.returncode == 0, started.stderr
        # The password was set by a process of its own, whose arguments stood in a file that is gone.
        assert any(f"@{folder.path}" in line for line in seen)
        assert not [line for line in seen if folder.password in line]
        assert sorted(path.name for path in (folder.path / "neo4j").iterdir() if path.name.startswith("tmp")) == []

        status = json.loads(kgprobe("graph", "status", "--json", *at).stdout)
        assert {key: status[key] for key in ("running", "engine", "version", "kept", "user", "database")} == {
            "running": True,
            "engine": "neo4j",
            "version": "5.26.30",
            "kept": True,
            "user": "neo4j",
            "database": "neo4j",
        }
        with urllib.request.urlopen(status["browser"]) as page:  # noqa: S310  (our own server)
            assert page.status == 200
            assert "<title>Neo4j Browser</title>" in page.read().decode()
        (process,) = servers_on(folder.path)
        assert process.pid == status["pid"]
        listening = [each.laddr.ip for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
        assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}

        settings = kgprobe(
            "graph", "query", "-", "--format", "csv", *at, typed="SHOW SETTINGS YIELD name, value RETURN name, value"
        )
        assert 'browser.remote_content_hostname_whitelist,"localhost,127.0.0.1,' in settings.stdout

        made = kgprobe(
            "graph", "query", "-", "--format", "csv", *at, typed="CREATE (e:Entity {id: 'Q1'}) RETURN e.id AS id"
        )
        assert made.stdout == "id\nQ1\n"
        process.kill()
        process.wait()
        # The folder knows its engine: the next command starts it, and stops it because nobody asked it to stay.
        found = kgprobe("graph", "query", "-", "--format", "csv", *at, typed="MATCH (e:Entity) RETURN e.id AS id;")
        assert found.stdout == "id\nQ1\n", found.stderr
        assert servers_on(folder.path) == []
        other = kgprobe("graph", "start", "--engine", "arcadedb", *at)
        assert other.returncode == 1
        assert "was made by neo4j" in other.stderr
    finally:
        kgprobe("graph", "stop", "--force", *at)
    assert servers_on(folder.path) == []


def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """A PATH that has these programs alone."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))


JAVA_17 = "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2"


@pytest.mark.parametrize(
    ("scripts", "complaint"),
    [
        ({}, "needs the program java, version 17 or 21, and there is none on the PATH"),
        ({"java": "echo 'java version \"1.8.0_291\"' >&2"}, "needs Java 17 or 21; .* is version 1"),
        ({"java": "echo 'openjdk version \"11.0.2\" 2019' >&2"}, "needs Java 17 or 21; .* is version 11"),
        ({"java": JAVA_17}, "downloaded with the program mvn"),
        ({"java": JAVA_17, "mvn": "echo '[ERROR] no route to anywhere'; exit 1"}, "no route to anywhere"),
    ],
)
def test_what_is_missing_is_named(
    scripts: dict[str, str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path, monkeypatch, **scripts)
    with pytest.raises(KgprobeError, match=complaint):
        neo4j_engine.ENGINE.prepare()
    assert not [path for path in (tmp_path / "home").glob("neo4j-*") if path.is_dir()]


def test_a_download_is_told_by_megabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "[INFO] Downloaded from central: x://y/a.jar (35 MB at 5.1 MB/s)"
    small = "Downloaded from central: x://y/b.pom (500 kB at 20 kB/s)"
    bars: list[progress.Bar] = []

    @contextmanager
    def recorded(*arguments: Any, **others: Any) -> Iterator[progress.Bar]:
        with progress.progress_bar(*arguments, **others) as bar:
            bars.append(bar)
            yield bar

    monkeypatch.setattr(neo4j_engine, "progress_bar", recorded)
    only(tmp_path, monkeypatch, java=JAVA_17, mvn=f"echo '{said}'; echo '{small}'")
    neo4j_engine.ENGINE.prepare()
    (bar,) = bars
    assert bar.text() == "2 files, 25%, 36 of about 140 MB"
    assert "Downloading Neo4j 5" in capsys.readouterr().err
    assert [path for path in (tmp_path / "home").glob("neo4j-*") if path.is_dir()]


def test_arguments_are_quoted_as_java_reads_them(tmp_path: Path) -> None:
    require_engine("neo4j")
    source = tmp_path / "Say.java"
    source.write_text('class Say { public static void main(String[] a) { System.out.print(String.join("|", a)); } }')
    said = ["a b", 'say "so"', "back\\slash", "#no comment"]
    file = tmp_path / "arguments"
    file.write_text("\n".join(map(neo4j_engine._quoted, [source, *said])))
    done = subprocess.run([str(shutil.which("java")), f"@{file}"], capture_output=True, text=True, check=True)
    assert done.stdout == "|".join(said)
