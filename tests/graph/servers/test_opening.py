"""A graph opened from Python: at once or in a block, closed, forgotten, left open at the end. Real processes."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.servers.folder import Folder, folder_of
from kgprobe.graph.servers.leases import start, stop
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.server import ServerOptions, status_of
from kgprobe.graph.servers.signals import ending_in_order
from tests.graph.servers.servers import clean_environment, servers_on, wait_for


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "graph"
    yield folder
    left = servers_on(folder)
    for process in left:
        process.kill()
    assert not left, "a test left a server behind"


@pytest.fixture
def kept(folder: Path) -> Iterator[Path]:
    """A graph whose server stays, so that a test is not about it."""
    start(Folder(folder), ServerOptions(memory=512))
    yield folder
    stop(Folder(folder), force=True)


def users(folder: Path) -> int:
    return len(status_of(Folder(folder)).users)


def test_graph_is_used_at_once_and_closed(folder: Path) -> None:
    graph = open_graph(folder, memory=512)
    assert list(graph.query("RETURN 1 AS one")) == [{"one": 1}]
    assert len(servers_on(folder)) == users(folder) == 1
    assert status_of(Folder(folder)).memory_mib == 512
    shown = repr(graph)
    assert "ArcadeDB" in shown
    assert f"in {folder} at bolt://127.0.0.1:" in shown
    assert graph.endpoint.password not in shown
    graph.close()
    assert servers_on(folder) == []
    graph.close()
    assert repr(graph) == shown.replace(">", ", closed>")
    for use in (
        lambda: graph.query("RETURN 1"),
        lambda: graph.read("explore/ready"),
        lambda: next(graph.stream("explore/ready")),
        lambda: graph.write("explore/ready"),
    ):
        with pytest.raises(KgprobeError, match=r"closed> cannot be used any more; open the graph again"):
            use()


@pytest.mark.slow
def test_each_graph_has_a_lease_of_its_own(kept: Path) -> None:
    with open_graph(kept) as first:
        second = open_graph(str(kept))
        assert users(kept) == 2
        first.close()
        first.close()
        assert users(kept) == 1
        assert list(second.query("RETURN 1 AS one")) == [{"one": 1}]
        second.close()
    assert users(kept) == 0


def test_block_that_fails_closes_the_graph(kept: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_graph(kept):
        _ = 1 / 0
    assert users(kept) == 0


@pytest.mark.slow
def test_graph_that_is_forgotten_gives_its_lease_back(kept: Path) -> None:
    graph = open_graph(kept)
    rows = graph.stream("explore/ready")
    del graph
    gc.collect()
    assert next(rows) == {"answer": True}
    assert users(kept) == 1
    del rows
    wait_for(lambda: users(kept) == 0)


@pytest.mark.slow
def test_graph_that_is_collected_under_the_lock_waits_for_it(kept: Path) -> None:
    graph = open_graph(kept)
    with Folder(kept).locked():
        # As the collector may come while this very thread opens another graph there.
        del graph
        gc.collect()
        assert users(kept) == 1
    wait_for(lambda: users(kept) == 0)


LEFT_OPEN = """
import sys
from kgprobe.graph.servers.opening import open_graph
graph = open_graph(sys.argv[1], memory=512)
print(graph.query("RETURN 1 AS one")[0]["one"])
{end}
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("raise SystemExit(3)", 3),
        pytest.param("", 0, marks=pytest.mark.slow),
        pytest.param("graph.itself = graph", 0, marks=pytest.mark.slow),
    ],
)
def test_graph_that_is_left_open_is_closed_when_python_exits(folder: Path, end: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEFT_OPEN.format(end=end), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(),
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "1\n", "")
    assert servers_on(folder) == []


FORKED = """
if os.fork() == 0:
    del graph
    gc.collect()
    sys.exit(0)
os.wait()
print(graph.query("RETURN 2 AS two")[0]["two"])
"""


@pytest.mark.slow
def test_fork_leaves_its_parent_the_graph(folder: Path) -> None:
    program = "import gc, os\n" + LEFT_OPEN.format(end=FORKED)
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(),
    )
    assert (done.returncode, done.stdout) == (0, "1\n2\n"), done.stderr
    assert servers_on(folder) == []


@pytest.mark.slow
def test_folder_that_is_gone_takes_its_server_along(folder: Path) -> None:
    graph = open_graph(folder, memory=512)
    shutil.rmtree(folder)
    graph.close()
    assert servers_on(folder) == []
    assert not folder.exists()


@pytest.mark.slow
def test_no_folder_is_the_one_of_the_environment(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: Endpoint
) -> None:
    monkeypatch.setenv("KGPROBE_GRAPH", str(kept))
    with open_graph() as graph:
        assert graph.endpoint.folder == kept
    monkeypatch.setenv("KGPROBE_GRAPH", endpoint.address)
    monkeypatch.setenv("KGPROBE_GRAPH_USER", endpoint.user)
    monkeypatch.setenv("KGPROBE_GRAPH_DATABASE", str(endpoint.database))
    monkeypatch.delenv("KGPROBE_GRAPH_PASSWORD", raising=False)
    asked = []
    with open_graph(ask_password=lambda prompt: asked.append(prompt) or endpoint.password) as graph:
        assert graph.endpoint.folder is None
        assert repr(graph) == f"<Graph {graph.server} at {endpoint.address}>"
    assert asked == [f"Password of {endpoint.user} at {endpoint.address}"]
    with pytest.raises(KgprobeError, match=r"Set KGPROBE_GRAPH_PASSWORD, or give `ask_password`"):
        open_graph()
    monkeypatch.delenv("KGPROBE_GRAPH")
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    assert folder_of().path == tmp_path / "graph"


@pytest.mark.parametrize(
    ("argument", "graph", "wishes"),
    [
        ("engine", None, {"engine": "neo5j"}),
        ("memory", None, {"memory": 8}),
        ("engine", "bolt://somewhere:7687", {"engine": "neo4j"}),
        ("memory", "bolt://somewhere:7687", {"memory": 512}),
        ("graph", "bolt://me:secret@somewhere:7687", {}),
        ("graph", "bolt://me:secret@somewhere:7687", {"memory": 512}),
        ("graph", "neo4j+s://me:a/secret@with@somewhere", {}),
        ("graph", "BOLT://me:secret@somewhere", {}),
        ("graph", "http://me:secret@somewhere", {}),
        ("graph", "bolt:/me:secret@somewhere", {}),
    ],
)
def test_arguments_that_cannot_be(folder: Path, argument: str, graph: str | None, wishes: dict[str, object]) -> None:
    with pytest.raises(ArgumentError, match=f"^`{argument}` ") as caught:
        open_graph(graph or folder, **wishes)
    assert "secret" not in str(caught.value)
    assert not folder.exists()
    if graph is not None and "secret" in graph:
        with pytest.raises(ArgumentError, match="user or a password before 'somewhere") as caught:
            folder_of(graph)
        assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_others_are_not_shown_a_password_that_was_typed(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["kgprobe", "graph", "copy", "--output", "bolt://me:sec@ret@somewhere:7687"])
    with open_graph(kept):
        assert [user.command for user in status_of(Folder(kept)).users] == [
            "kgprobe graph copy --output bolt://…@somewhere:7687"
        ]


@pytest.mark.slow
def test_refused_password_costs_no_lease(kept: Path) -> None:
    password = Folder(kept).password_file
    right = password.read_text()
    password.write_text("wrong")
    with pytest.raises(KgprobeError, match="refuses user"):
        open_graph(kept)
    password.write_text(right)
    assert users(kept) == 0


@pytest.mark.slow
def test_signals_are_left_alone_unless_asked_for(kept: Path) -> None:
    requests = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = [signal.getsignal(number) for number in requests]
    with open_graph(kept):
        assert [signal.getsignal(number) for number in requests] == before
    with ending_in_order():
        inside = signal.getsignal(signal.SIGTERM)
        assert inside is not signal.SIG_DFL
        with ending_in_order():
            assert signal.getsignal(signal.SIGTERM) is inside
        with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)):
            os.kill(os.getpid(), signal.SIGTERM)
    assert [signal.getsignal(number) for number in requests] == before
    with ending_in_order():
        signal.signal(signal.SIGTERM, other := lambda *_: None)
    try:
        assert signal.getsignal(signal.SIGTERM) is other
    finally:
        signal.signal(signal.SIGTERM, before[0])


def test_outside_of_the_main_thread_no_handler_is_set() -> None:
    seen = []

    def look() -> None:
        with ending_in_order():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]


@pytest.mark.slow
def test_command_line_ends_in_order(folder: Path) -> None:
    Folder(folder).create("arcadedb")
    process = subprocess.Popen(
        [sys.executable, "-m", "kgprobe", "graph", "shell", "--graph", str(folder)],
        stdin=subprocess.PIPE,
        env=clean_environment(),
    )
    wait_for(lambda: status_of(Folder(folder)).users)
    # A signal between the entry of a user and the connection would leave the server to the next command.
    wait_for(
        lambda: any(one.status == psutil.CONN_ESTABLISHED for one in psutil.Process(process.pid).net_connections())
    )
    process.send_signal(signal.SIGTERM)
    assert process.wait(300) == 128 + signal.SIGTERM
    assert servers_on(folder) == []


def test_connection_without_a_lease_can_be_closed_twice(endpoint: Endpoint) -> None:
    released = []
    graph = Graph(endpoint, release=lambda: released.append(1))
    graph.close()
    graph.close()
    assert released == [1]
