"""Neo4j from Maven Central: one life of a server, from its first start to its last stop, through the command line."""

import json
import os
import re
import shutil
import subprocess
import threading
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from kgprobe.base import progress
from kgprobe.base.errors import KgprobeError
from kgprobe.graph.servers import neo4j_engine
from kgprobe.graph.servers.engine import Launch
from kgprobe.graph.servers.folder import Folder
from tests.cli.inprocess import run as kgprobe
from tests.conftest import require_engine
from tests.graph.servers.servers import servers_on


@pytest.mark.slow
def test_neo4j_from_first_start_to_stop(tmp_path: Path) -> None:
    require_engine("neo4j")
    folder = Folder(tmp_path / "graph")
    at = ("--graph", str(folder.path))
    seen: set[str] = set()
    done = threading.Event()

    def callbacks() -> None:
        while not done.wait(0.1):
            for process in psutil.process_iter(["cmdline"]):
                seen.add(" ".join(process.info["cmdline"] or ()))

    watcher = threading.Thread(target=callbacks)
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

        loaded = kgprobe("load", "example", *at)
        assert loaded.returncode == 0, loaded.stderr
        text = "MATCH (n) WITH n LIMIT 50 WHERE NOT n:Entity RETURN labels(n) AS labels"
        assert kgprobe("graph", "query", "-", "--format", "csv", *at, typed=text).stdout == "labels\n"
        assert kgprobe("graph", "query", "-", *at, typed="MATCH (n) DETACH DELETE n").returncode == 0
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
        assert "was created by neo4j" in other.stderr
    finally:
        kgprobe("graph", "stop", "--force", *at)
    assert servers_on(folder.path) == []


def java_home(least: int) -> str:
    """Return the folder of a Java of that version or later; skip the test where there is none."""
    on_path = shutil.which("java")
    homes = [Path(on_path).resolve().parents[1]] if on_path else []
    homes += [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += sorted(Path("/usr/lib/jvm").glob("*/"))
    for folder in homes:
        java = folder / "bin" / "java"
        if java.is_file():
            said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
            number = re.search(r'version "(\d+)', said)
            if number is not None and int(number[1]) >= least:
                return str(folder)
    pytest.skip(f"needs Java {least} or later, not found on the PATH, by JAVA_HOME or in /usr/lib/jvm")


@pytest.mark.slow
@pytest.mark.parametrize(("version", "java"), [("5.26.30", 17), ("2026.08.1", 21)])
def test_bulk_load_and_start_on_both_versions(
    version: str, java: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_engine("neo4j")
    monkeypatch.setenv("JAVA_HOME", java_home(java))
    monkeypatch.setenv("KGPROBE_NEO4J_VERSION", version)
    at = ("--graph", str(tmp_path / "graph"))
    loaded = kgprobe("load", "example", "--bulk", "--json", *at)
    assert loaded.returncode == 0, loaded.stderr
    # The folder keeps its version.
    monkeypatch.delenv("KGPROBE_NEO4J_VERSION")
    try:
        started = kgprobe("graph", "start", "--memory", "1g", *at)
        assert started.returncode == 0, started.stderr
        status = json.loads(kgprobe("graph", "status", "--json", *at).stdout)
        assert status["version"] == version
        with urllib.request.urlopen(status["browser"]) as page:  # noqa: S310  (our own server)
            assert "<title>Neo4j Browser</title>" in page.read().decode()
        components = "CALL dbms.components() YIELD name, versions WITH * WHERE name = 'Neo4j Kernel' "
        components += "MATCH ()-[f:FACT]->() RETURN versions[0] AS v, count(f) AS n"
        answer = kgprobe("graph", "query", "-", "--format", "csv", *at, typed=components)
        assert answer.stdout == f"v,n\n{version},{json.loads(loaded.stdout)['facts']}\n", answer.stderr
        around = kgprobe("graph", "query", "explore/around", "--param", "entity=Q142", "--format", "csv", *at)
        assert "Paris" in around.stdout, around.stderr
    finally:
        kgprobe("graph", "stop", "--force", *at)


def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """A PATH that has these programs alone."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    for variable in ("JAVA_HOME", "KGPROBE_NEO4J_VERSION"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))


JAVA_17 = "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2"
OLD, NEW = "5.26.30", "2026.08.1"


def make_libraries(folder: Path, version: str, main_class: str, java: int) -> Path:
    """Write the jar of a version of Neo4j's kernel, as far as it says how to start a server."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"neo4j-{version}.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\nBuild-Jdk-Spec: {java}\r\n\r\n")
        jar.writestr("META-INF/services/org.neo4j.server.startup.EntryPoint", f"{main_class}\n")
    return folder


def launch_in(folder: Path) -> Launch:
    """Return a launch in a folder whose password is set already."""
    (folder / "data" / "databases" / "system").mkdir(parents=True)
    return Launch(folder, folder / "password", 7687, 7474, 512)


@pytest.mark.parametrize(
    ("scripts", "complaint"),
    [
        ({}, "needs the program java, and there is none on the PATH"),
        ({"java": JAVA_17}, "needs the program mvn"),
        ({"java": JAVA_17, "mvn": "echo '[ERROR] no route to anywhere'; exit 1"}, "no route to anywhere"),
    ],
)
def test_what_is_missing_is_named(
    scripts: dict[str, str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path, monkeypatch, **scripts)
    with pytest.raises(KgprobeError, match=complaint):
        neo4j_engine.ENGINE.prepare(tmp_path / "own")
    assert not [path for path in (tmp_path / "home").glob("neo4j-*") if path.is_dir()]


@pytest.mark.parametrize(
    ("version", "said", "complaint"),
    [
        (OLD, 'java version "1.8.0_291"', "Neo4j 5.26.30 needs Java 17 or later; .*/java is version 1. "),
        (OLD, 'openjdk version "11.0.2" 2019', "Neo4j 5.26.30 needs Java 17 or later; .*/java is version 11. "),
        (OLD, "no idea", "needs Java 17 or later; .*/java is of an unknown version. "),
        (NEW, 'openjdk version "17.0.15"', "Neo4j 2026.08.1 needs Java 21 or later; .* 17. Install Java 21, and set"),
    ],
)
def test_java_that_is_too_old_is_refused(
    version: str, said: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path, monkeypatch, java=f"echo '{said}' >&2")
    make_libraries(tmp_path / "home" / f"neo4j-{version}" / "lib", version, "Any", 17 if version == OLD else 21)
    monkeypatch.setenv("KGPROBE_NEO4J_VERSION", version)
    with pytest.raises(KgprobeError, match=complaint):
        neo4j_engine.ENGINE.prepare(tmp_path / "own")


@pytest.mark.parametrize(
    ("version", "main_class"),
    [(OLD, "org.neo4j.server.CommunityEntryPoint"), (NEW, "org.neo4j.server.Neo4jCommunity")],
)
def test_main_class_is_read_from_the_jar(
    version: str, main_class: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path, monkeypatch, java="echo 'openjdk version \"21.0.1\"' >&2")
    make_libraries(tmp_path / "home" / f"neo4j-{version}" / "lib", version, main_class, 17)
    launch = launch_in(tmp_path / "own")
    (launch.folder / "version").write_text(version)
    assert main_class in neo4j_engine.ENGINE.command(launch)


def test_jar_without_a_main_class_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(tmp_path, monkeypatch, java=JAVA_17)
    jars = make_libraries(tmp_path / "home" / f"neo4j-{OLD}" / "lib", OLD, "Any", 17)
    (jars / f"neo4j-{OLD}.jar").write_bytes(b"PK cut off")
    with pytest.raises(KgprobeError, match=rf"neo4j-{OLD}.jar does not contain .* delete {jars.parent} and try again"):
        neo4j_engine.ENGINE.prepare(tmp_path / "own")


def test_version_is_chosen_for_new_graphs_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(tmp_path, monkeypatch, java="echo 'openjdk version \"25\"' >&2")
    for version in (OLD, NEW):
        make_libraries(tmp_path / "home" / f"neo4j-{version}" / "lib", version, "Any", 17)
    prepare = neo4j_engine.ENGINE.prepare
    old = launch_in(tmp_path / "old").folder
    assert prepare(old) == OLD
    new = tmp_path / "new"
    monkeypatch.setenv("KGPROBE_NEO4J_VERSION", NEW)
    assert (prepare(old), prepare(new)) == (OLD, NEW)
    neo4j_engine.admin_command(new, ["import"], 100)
    monkeypatch.setenv("KGPROBE_NEO4J_VERSION", "newest")
    assert (prepare(old), prepare(new)) == (OLD, NEW)
    with pytest.raises(KgprobeError, match=r"KGPROBE_NEO4J_VERSION is 'newest'; a version of Neo4j is expected"):
        prepare(tmp_path / "third")


def test_download_is_told_by_megabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "[INFO] Downloaded from central: x://y/a.jar (35 MB at 5.1 MB/s)"
    small = "Downloaded from central: x://y/b.pom (500 kB at 20 kB/s)"
    bars: list[progress.Task] = []

    @contextmanager
    def recorded(*arguments: Any, **others: Any) -> Iterator[progress.Task]:
        with progress.progress_bar(*arguments, **others) as bar:
            bars.append(bar)
            yield bar

    jars = make_libraries(tmp_path / "central", NEW, "Any", 17)
    copied = f'for a in "$@"; do case $a in -DoutputDirectory=*) /bin/cp -r {jars} "${{a#*=}}"; esac; done'
    monkeypatch.setattr(neo4j_engine, "progress_bar", recorded)
    only(tmp_path, monkeypatch, java=JAVA_17, mvn=f"echo '{said}'; echo '{small}'; echo \"$*\" > {jars}/said; {copied}")
    monkeypatch.setenv("KGPROBE_NEO4J_VERSION", NEW)
    neo4j_engine.ENGINE.prepare(tmp_path / "own")
    (bar,) = bars
    assert bar.text() == "2 files, 25%, 36 of about 140 MB"
    assert f"Downloading Neo4j {NEW}" in capsys.readouterr().err
    assert f"-Dneo4j.version={NEW}" in (jars / "said").read_text()
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
