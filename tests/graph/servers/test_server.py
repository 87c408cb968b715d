"""The server's life among commands that come, go, are killed, and come at once. Real processes, the embedded engine."""

import dataclasses
import errno
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from kgprobe.base import progress
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.servers import server
from kgprobe.graph.servers.folder import Folder, User, folder_of
from kgprobe.graph.servers.leases import start, stop
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.processes import ProcessKey, find, free_ports, is_open, key_of
from kgprobe.graph.servers.server import ServerOptions, status_of
from tests.cases import slow_except
from tests.graph.servers.servers import clean_environment, holder, leave, servers_on, wait_for

MEMORY = 512


def rows(graph: Graph, text: str) -> list[dict[str, object]]:
    return list(graph.run_text(text, {})[1])


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "graph")


@pytest.fixture(autouse=True)
def _no_server_survives(tmp_path: Path) -> object:
    yield
    left = servers_on(tmp_path / "graph")
    for process in left:
        process.kill()
    assert not left, "a test left a server behind"


def test_command_starts_the_server_and_stops_it_again(folder: Folder) -> None:
    with open_graph(folder.path) as graph:
        assert len(servers_on(folder.path)) == 1
        status = status_of(folder)
        assert status.running
        assert status.kept is False
        assert [user.process.pid for user in status.users] == [os.getpid()]
        rows(graph, "CREATE (:Entity {id: 'Q1'})")
        port = int(str(status.address).rpartition(":")[2])
        password = folder.password
    assert servers_on(folder.path) == []
    assert not is_open(port)
    assert not status_of(folder).running
    with open_graph(folder.path) as graph:
        assert rows(graph, "MATCH (e:Entity) RETURN e.id AS id") == [{"id": "Q1"}]
    assert folder.password == password


@pytest.mark.parametrize("free", [0, 2**40])
def test_locked_unwritable_disk_names_folder_and_remedy(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    number = errno.EROFS if free else errno.ENOSPC
    usage = shutil.disk_usage(folder.path.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
    refused = OSError(number, os.strerror(number), str(folder.path))
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: (_ for _ in ()).throw(refused))
    said = f"folder {folder.path} cannot be used: Read-only file system. Set `graph` to another"
    with pytest.raises(KgprobeError, match=re.escape(said if free else "is full")), folder.locked():
        pass


@pytest.mark.parametrize("free", [0, 2**40])
def test_failure_full_disk_leaves_out_the_log(folder: Folder, monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    folder.path.mkdir()
    folder.log.write_text("\tat com.arcadedb.Page\n")
    usage = shutil.disk_usage(folder.path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
    message = server._failure(folder, "ended")
    assert ("is full" in message, "com.arcadedb" in message) == (not free, bool(free))


def test_files_are_for_their_owner_alone(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ("OPENAI_API_KEY", "HF_TOKEN", "KGPROBE_API_KEY", "KGPROBE_GRAPH_PASSWORD", "SOMEBODYS_PASSWORD")
    for name in secrets:
        monkeypatch.setenv(name, "a secret")
    with open_graph(folder.path, memory=MEMORY):
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        assert stat.S_IMODE(folder.password_file.stat().st_mode) == 0o600
        (process,) = servers_on(folder.path)
        assert folder.password not in " ".join(process.cmdline())
        environment = process.environ()
        assert folder.password not in " ".join(environment.values())
        assert not environment.keys() & set(secrets)
        assert environment["HOME"] == os.environ["HOME"]
        listening = [each.laddr.ip for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
        assert len(listening) >= 2
        assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
        assert len(folder.password) >= 24


@pytest.mark.slow
def test_parallel_commands_share_a_server_last_stops_it(folder: Folder) -> None:
    program = (
        "from tests.graph.servers.servers import holder, leave; import sys, pathlib;"
        " leave(holder(pathlib.Path(sys.argv[1])))"
    )
    # Both begin at the same moment, each in its own process, before there is a folder.
    racers = [
        subprocess.Popen([sys.executable, "-c", program, str(folder.path)], env=clean_environment()) for _ in range(2)
    ]
    assert [racer.wait(300) for racer in racers] == [0, 0]
    assert servers_on(folder.path) == []

    first = holder(folder.path)
    second = holder(folder.path)
    (process,) = servers_on(folder.path)
    assert {user.process.pid for user in status_of(folder).users} == {first.pid, second.pid}
    leave(first)
    assert servers_on(folder.path) == [process]
    leave(second)
    assert servers_on(folder.path) == []


def test_kept_server_outlives_users_and_stop_waits(folder: Folder) -> None:
    started, new = start(folder, ServerOptions(memory=MEMORY))
    assert new
    assert start(folder) == (started, False)
    with open_graph(folder.path):
        pass
    assert started.process is not None
    assert [process.pid for process in servers_on(folder.path)] == [started.process.pid]
    assert stop(folder)
    assert servers_on(folder.path) == []
    assert not is_open(started.bolt_port)
    assert not stop(folder)


@pytest.mark.slow
def test_start_keeps_a_server_that_a_command_has_started(folder: Folder) -> None:
    user = holder(folder.path)
    _, new = start(folder)
    assert not new
    leave(user)
    assert len(servers_on(folder.path)) == 1
    stop(folder)


@pytest.mark.slow
def test_stop_refuses_while_others_use_the_server(folder: Folder) -> None:
    user = holder(folder.path)
    with pytest.raises(KgprobeError, match=f"in use by: .*process {user.pid}.*`force`"):
        stop(folder)
    assert len(servers_on(folder.path)) == 1
    assert stop(folder, force=True)
    assert servers_on(folder.path) == []
    leave(user)


@pytest.mark.slow
def test_leases_of_dead_commands_do_not_count(folder: Folder) -> None:
    killed = holder(folder.path)
    killed.kill()
    killed.communicate()
    # Nobody was there to stop it; the next command finds it, uses it, and is the last.
    (process,) = servers_on(folder.path)
    assert status_of(folder).users == ()
    with open_graph(folder.path):
        assert servers_on(folder.path) == [process]
    assert servers_on(folder.path) == []


@pytest.mark.slow
@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_command_that_is_asked_to_end_stops_its_server(folder: Folder, request_to_end: signal.Signals) -> None:
    asked = holder(folder.path)
    asked.send_signal(request_to_end)
    asked.communicate(timeout=300)
    assert asked.returncode != 0
    assert servers_on(folder.path) == []


def test_killed_server_is_noticed_committed_data_stays(folder: Folder) -> None:
    started, _ = start(folder, ServerOptions(memory=MEMORY))
    with open_graph(folder.path) as graph:
        rows(graph, "UNWIND range(1, 500) AS i CREATE (:Entity {id: 'Q' + toString(i)})")
        (process,) = servers_on(folder.path)
        process.kill()
        process.wait()
        with pytest.raises(KgprobeError, match="does not answer"):
            rows(graph, "MATCH (e:Entity) RETURN count(e) AS count")
    assert not status_of(folder).running
    with open_graph(folder.path) as graph:
        assert rows(graph, "MATCH (e:Entity) RETURN count(e) AS count") == [{"count": 500}]
        assert [process.pid for process in servers_on(folder.path)] != [started.process and started.process.pid]


@pytest.mark.slow
def test_stale_state_whose_pid_is_used_again_harms_nobody(folder: Folder) -> None:
    with open_graph(folder.path, memory=MEMORY):
        state = folder.read_server()
    assert state is not None
    bystander = subprocess.Popen(["sleep", "300"])
    try:
        reused = ProcessKey(bystander.pid, key_of(bystander.pid).created - 3600)
        folder.write_server(dataclasses.replace(state, process=reused, ready=True, kept=True))
        assert not status_of(folder).running
        assert not stop(folder)
        with open_graph(folder.path) as graph:
            assert rows(graph, "RETURN 1 AS one") == [{"one": 1}]
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.slow
@pytest.mark.parametrize("state", [b'{"engine": "arcad', None, b""])
def test_server_without_legible_state_is_found(folder: Folder, state: bytes | None) -> None:
    start(folder, ServerOptions(memory=MEMORY))
    (before,) = servers_on(folder.path)
    (folder.path / "server.json").unlink()
    if state is not None:
        (folder.path / "server.json").write_bytes(state)
    with open_graph(folder.path) as graph:
        assert rows(graph, "RETURN 1 AS one") == [{"one": 1}]
        (after,) = servers_on(folder.path)
        assert after != before


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["with state", "at once", "listening"])
def test_half_started_server_is_replaced(folder: Folder, moment: str) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-m", "kgprobe", "graph", "start", "--memory", "512m", "--graph", str(folder.path)],
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
    )

    def come() -> bool:
        found = servers_on(folder.path)
        if moment == "with state":
            return (folder.path / "server.json").exists()
        return bool(found) and (moment == "at once" or bool(found[0].net_connections("tcp")))

    wait_for(come)
    starter.kill()
    starter.wait()
    state = folder.read_server()
    assert state is None or not state.ready, "the starter was too quick for this test"
    assert not status_of(folder).running
    with open_graph(folder.path) as graph:
        assert rows(graph, "RETURN 1 AS one") == [{"one": 1}]
        assert len(servers_on(folder.path)) == 1
    assert servers_on(folder.path) == []


@pytest.mark.slow
def test_first_start_interrupted_before_engine_is_repeated(folder: Folder) -> None:
    folder.path.mkdir()
    folder.password_file.write_text("half")
    with open_graph(folder.path):
        assert folder.password != "half"


@pytest.mark.slow
def test_server_that_dies_at_start_says_why(folder: Folder) -> None:
    with pytest.raises(KgprobeError, match="ended with code 1 while it started") as caught:
        open_graph(folder.path, memory=2**40)
    assert f"The end of {folder.log}:" in str(caught.value)
    # What Java says differs with the machine; that it is shown matters.
    assert "heap" in str(caught.value)
    assert servers_on(folder.path) == []
    with open_graph(folder.path, memory=MEMORY):
        assert len(servers_on(folder.path)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["http", "bolt"])
def test_port_lost_between_choice_and_use_is_chosen_anew(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        taken = squatter.getsockname()[1]
        choices = iter([[taken, *free_ports(1)] if lost == "bolt" else [*free_ports(1), taken]])
        monkeypatch.setattr(server, "free_ports", lambda count: next(choices, None) or free_ports(count))
        with open_graph(folder.path, memory=MEMORY) as graph:
            assert rows(graph, "RETURN 1 AS one") == [{"one": 1}]
            assert not graph.endpoint.address.endswith(f":{taken}")


@pytest.mark.slow
def test_missing_password_is_named(folder: Folder) -> None:
    with open_graph(folder.path, memory=MEMORY):
        pass
    folder.password_file.unlink()
    with pytest.raises(KgprobeError, match="password is missing"):
        open_graph(folder.path)
    assert servers_on(folder.path) == []


def test_folder_remembers_its_engine(folder: Folder) -> None:
    folder.create("arcadedb")
    with pytest.raises(KgprobeError, match=r"created by arcadedb.*Omit `engine`"):
        open_graph(folder.path, engine="neo4j")


def test_folders_that_are_no_graphs_are_refused(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir(mode=0o755)
    (documents / "thesis.tex").write_text("…")
    with pytest.raises(KgprobeError, match=r"thesis\.tex"):
        open_graph(documents)
    assert stat.S_IMODE(documents.stat().st_mode) == 0o755
    assert sorted(path.name for path in documents.iterdir()) == ["thesis.tex"]
    with pytest.raises(KgprobeError, match="is a file"):
        open_graph(documents / "thesis.tex")
    with pytest.raises(KgprobeError, match="neither a folder nor an address"):
        open_graph("http://h")


def test_process_keys_tell_processes_apart() -> None:
    own = key_of(os.getpid())
    assert find(own) is not None
    assert find(ProcessKey(own.pid, own.created - 3600)) is None
    child = subprocess.Popen(["true"])
    key = key_of(child.pid)
    wait_for(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
    assert find(key) is None
    child.wait()
    assert find(key) is None


def test_users_are_listed_and_pruned(folder: Folder) -> None:
    folder.path.mkdir()
    own = User(key_of(os.getpid()), "kgprobe rounds run")
    folder.add_user(own)
    folder.add_user(User(ProcessKey(own.process.pid, own.process.created - 3600), "an earlier one"))
    (folder.path / "users" / "torn.json").write_bytes(b'{"process"')
    assert folder.users() == [own]
    folder.prune_users()
    (left,) = (folder.path / "users").iterdir()
    assert json.loads(left.read_bytes())["command"] == "kgprobe rounds run"


@pytest.mark.slow
def test_full_disk_is_named_and_committed_data_stays(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    # A mount namespace of its own, so that a tiny disk can be mounted, and is gone with its process.
    namespace = ["unshare", "-Urm"]
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(disk)]
    if shutil.which("unshare") is None or subprocess.run([*namespace, *mount], capture_output=True).returncode != 0:
        pytest.skip("no tiny disk can be mounted here: unshare -Urm with mount does not work")
    done = subprocess.run(
        [*namespace, sys.executable, "-m", "tests.graph.servers.fill_disk", str(disk)],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["complaint"].startswith(f"The disk under {disk / 'graph'} is full (")
    assert told["committed"] > 0
    assert told["found"] == told["committed"]
    assert told["more"] == told["found"] + 200


@pytest.mark.slow
def test_server_stays_where_it_was(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    port, http_port = free_ports(2)
    started, _ = start(folder, ServerOptions(memory=MEMORY, port=port, http_port=http_port))
    stop(folder)
    assert (started.bolt_port, started.http_port) == (port, http_port)
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        with pytest.raises(KgprobeError, match=f"`port` is {port}, .*another program"):
            start(folder, ServerOptions(port=port))
        assert capsys.readouterr().err == ""
        # Nobody wished for a port, so the graph opens, and it is said where.
        with open_graph(folder.path, memory=MEMORY) as graph:
            assert graph.endpoint.address != f"bolt://127.0.0.1:{port}"
            state = folder.read_server()
            assert state is not None
            assert state.http_port == http_port
        assert f"Port {port} of this graph is in use by another program" in capsys.readouterr().err
    with open_graph(folder.path, memory=MEMORY) as graph:
        assert graph.endpoint.address == f"bolt://127.0.0.1:{port}"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wishes", [{"port": 0}, {"http_port": 65536}, {"port": 7777, "http_port": 7777}])
def test_ports_that_cannot_be(wishes: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="port` is"):
        ServerOptions(**wishes)


@pytest.mark.slow
def test_link_to_a_folder_leads_to_the_same_server(folder: Folder, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder.path)
    start(folder_of(str(link)), ServerOptions(memory=MEMORY))
    (process,) = servers_on(folder.path)
    # Its state is lost; it is found by what it was started with.
    (folder.path / "server.json").unlink()
    assert stop(folder_of(folder.path))
    assert not process.is_running()
    assert not stop(folder_of(link))


DAMAGE = {
    "missing": lambda data: max(data.glob("*.bucket"), key=lambda path: path.stat().st_size).unlink(),
    "shorter than": lambda data: os.truncate(max(data.glob("*.bucket"), key=lambda path: path.stat().st_size), 10),
    "empty graph": shutil.rmtree,
}


@pytest.mark.parametrize("how", slow_except(DAMAGE, ["shorter than"]))
def test_database_that_was_damaged_is_not_opened(folder: Folder, how: str) -> None:
    with open_graph(folder.path, memory=MEMORY) as graph:
        rows(graph, "UNWIND range(1, 50) AS i CREATE (:Entity {id: 'Q' + toString(i)})")
    data = folder.path / "arcadedb" / "databases" / "kg"
    copy = folder.path.parent / "copy"
    shutil.copytree(data, copy)
    DAMAGE[how](data)
    for _ in range(2):
        with pytest.raises(KgprobeError, match=f"{data} (is|was) .*{how}"):
            open_graph(folder.path)
    assert servers_on(folder.path) == []
    shutil.rmtree(data, ignore_errors=True)
    copy.rename(data)
    with open_graph(folder.path, memory=MEMORY) as graph:
        assert rows(graph, "MATCH (e:Entity) RETURN count(e) AS count") == [{"count": 50}]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["at work", "starting"])
def test_several_interruptions_leave_no_server(folder: Folder, moment: str) -> None:
    folder.create("arcadedb")
    command = [sys.executable, "-m", "kgprobe", "graph", "shell", "--graph", str(folder.path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment())
    wait_for(lambda: servers_on(folder.path) if moment == "starting" else status_of(folder).users)
    for _ in range(4):
        process.send_signal(signal.SIGINT)
        time.sleep(0.15)
    _, said = process.communicate(timeout=300)
    # The last may come when Python is all but gone.
    assert process.returncode in (1, -signal.SIGINT)
    assert b"Traceback" not in said
    assert servers_on(folder.path) == []
    assert status_of(folder).users == ()


@pytest.mark.slow
def test_start_and_stop_tell_how_long_they_take(
    tmp_path: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    monkeypatch.setattr(progress, "DISPLAY", progress.Display(lambda: clock[0]))

    def slow(does: Callable[..., Any]) -> Callable[..., Any]:
        def later(*arguments: Any) -> Any:
            clock[0] += 40.0
            progress.DISPLAY.print_due()
            return does(*arguments)

        return later

    monkeypatch.setattr(server, "_wait_until_ready", slow(server._wait_until_ready))
    monkeypatch.setattr(server, "terminate", slow(server.terminate))
    with open_graph(folder.path, memory=MEMORY):
        assert capsys.readouterr().err.splitlines() == ["Starting the graph server (arcadedb): 40 s so far"]
    assert capsys.readouterr().err.splitlines() == ["Stopping the graph server: 40 s so far"]
