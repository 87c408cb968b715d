"""Real graph servers for the tests: one of each engine for the whole run, emptied before each test."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.servers.opening import open_graph

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

# Workers share the cores; one that took them all would wait for the others.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test depends on how fast the machine is.
settings.register_profile("kgprobe", deadline=None)
settings.load_profile("kgprobe")

# Who is started in the background may have Ctrl-C ignored, and whatever it starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Servers of tests live for minutes: what a JVM would gain from compiling well, and from collecting garbage beside its
# work, costs more than it gives.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

REPOSITORY = Path(__file__).parent.parent
WIPE = (REPOSITORY / "tests" / "data" / "wipe.cypher").read_text(encoding="utf-8")


def require_engine(engine: str) -> None:
    """Skip the test where the engine's programs are missing; in CI that is a failure."""
    missing = [program for program in ("java", "mvn") if engine == "neo4j" and shutil.which(program) is None]
    if missing:
        reason = f"Neo4j needs {' and '.join(missing)}, not found on the PATH"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Endpoint]]:
    """Gives the server of an engine, which is started once for the whole run, when it is first needed."""
    started: dict[str, Endpoint] = {}
    with ExitStack() as servers:

        def start(engine: str) -> Endpoint:
            if engine not in started:
                folder = tmp_path_factory.mktemp(engine) / "graph"
                graph = servers.enter_context(open_graph(folder, engine=engine, memory=1024))
                started[engine] = graph.endpoint
            return started[engine]

        yield start


@pytest.fixture(scope="session", params=["arcadedb", "neo4j"])
def endpoint(request: pytest.FixtureRequest, start_server: Callable[[str], Endpoint]) -> Endpoint:
    """A running server of each engine."""
    require_engine(request.param)
    return start_server(request.param)


@pytest.fixture
def graph(endpoint: Endpoint) -> Iterator[Graph]:
    """A connection to an empty graph, on each engine."""
    with Graph(endpoint) as connection:
        wipe(connection)
        yield connection


def wipe(graph: Graph) -> None:
    """Delete all nodes and relationships; constraints and indexes stay."""
    while [row["deleted"] for row in graph.run_text(WIPE, {})[1]] != [0]:
        pass


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data that is too large for the repository."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("there is no ../shared/data beside the repository")
    return folder


@pytest.fixture(scope="session")
def demo_folder() -> Path:
    """The converted demo model, in the user's own folder so that a machine converts it once.

    A test with a ``KGPROBE_HOME`` of its own can link its ``models`` to this folder's parent.
    """
    from kgprobe.models.demo import demo_model_folder

    return demo_model_folder()


@pytest.fixture(scope="session")
def api_model(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A real server for the whole run, the demo model with a chat template: what it calls its model, and its URL."""
    from tests.models.serving import serve, with_chat_template

    folder = tmp_path_factory.mktemp("served")
    model = with_chat_template(demo_folder, folder / "model")
    with serve(model, folder / "log") as url:
        yield str(model), url


@pytest.fixture(scope="session")
def demo_scorer(demo_folder: Path) -> "Scorer":
    """The demo model, loaded once for the whole run."""
    from kgprobe.models.spec import load_scorer

    assert demo_folder.is_dir()
    return load_scorer("demo")


@pytest.fixture
def shared_demo(demo_scorer: "Scorer", monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names the demo model in this test gets the one of the whole run, which takes seconds to load."""
    from kgprobe.models import spec

    load = spec.load_scorer

    def shared(named: str, **how: Any) -> "Scorer":
        return demo_scorer if named == "demo" else load(named, **how)

    monkeypatch.setattr("kgprobe.models.spec.load_scorer", shared)
