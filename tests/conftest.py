"""Fixtures that all tests share: one server of each engine for the whole run, the demo model, the real data."""

import gc
import itertools
import os
import re
import shutil
import signal
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from kgprobe.base.files import home as kgprobe_home
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.graph.servers.opening import open_graph
from kgprobe.loaders.example import open_example
from tests.graph.servers.shared import REPOSITORY, WORKER, add_database, run_folder, shared_process, wipe

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

pytest_plugins = ["tests.timing"]

# Workers share the cores; one that took them all would wait for the others.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test depends on how fast the machine is.
settings.register_profile("kgprobe", deadline=None, max_examples=40)
settings.load_profile("kgprobe")

# A process in the background may ignore Ctrl-C, and its child processes would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Test servers live for minutes: full compilation and parallel garbage collection cost a JVM more than they gain.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Tests whose subject is the engine; all others run on the embedded one.
ENGINE_FOLDER = "tests/graph/"
# Except those of Python around queries, which the query contract runs on both engines.
AROUND_QUERIES = {
    f"{ENGINE_FOLDER}test_{name}.py"
    for name in ("believed_subgraphs", "explore_answers", "explore_believed", "subgraphs")
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option that marks a twentieth of the tests that the normal run leaves out."""
    help_ = "mark a twentieth of the tests that are slow or on both engines as drawn, chosen by a commit's hash"
    parser.addoption("--twentieth-of", metavar="COMMIT", help=help_)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of a graph on the embedded engine, and on Neo4j where the engine is its subject."""
    if "endpoint" not in metafunc.fixturenames:
        return
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        if "endpoint" in names:
            return
    file = metafunc.definition.path.relative_to(REPOSITORY).as_posix()
    marks = () if file.startswith(ENGINE_FOLDER) and file not in AROUND_QUERIES else (pytest.mark.engines,)
    metafunc.parametrize("endpoint", ["arcadedb", pytest.param("neo4j", marks=marks)], indirect=True, scope="session")


def _mark_all_but_representatives(items: list[pytest.Item]) -> None:
    """Mark cases as slow beyond the number that their test names, in an order that does not follow the parameters."""
    counts: Counter[tuple[str, bool]] = Counter()
    for item in sorted(items, key=lambda item: zlib.crc32(item.nodeid.encode())):
        mark = item.get_closest_marker("representatives")
        if mark is None or any(item.get_closest_marker(name) for name in ("slow", "engines")):
            continue
        # Each engine has its own representatives.
        test, _, case = item.nodeid.partition("[")
        kind = (test, "neo4j" in case)
        counts[kind] += 1
        if counts[kind] > mark.args[0]:
            item.add_marker(pytest.mark.slow)


# Before pytest itself selects by marks.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Allow more time to slow tests; mark a twentieth with ``--twentieth-of``."""
    _mark_all_but_representatives(items)
    commit = config.getoption("--twentieth-of")
    turn = None if commit is None else int(commit[:8], 16)
    for item in items:
        slow, engines = (item.get_closest_marker(name) is not None for name in ("slow", "engines"))
        if slow:
            item.add_marker(pytest.mark.timeout(1800))
        if turn is not None and (slow or engines):
            # A fifth of the tests of every fourth file, because a file's servers and models cost more than its tests.
            file, test = (zlib.crc32(name.encode()) for name in (item.nodeid.partition("::")[0], item.nodeid))
            if file % 4 == turn % 4 and (test + turn // 4) % 5 == 0:
                item.add_marker(pytest.mark.drawn)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Import all tests without garbage collection, which would take a fifth of the time and find nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a file to one worker, and all tests of Neo4j to one: its community edition has a single database."""
    from xdist.scheduler import LoadFileScheduling

    class OneWorkerOnNeo4j(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if re.search(r"[\[-]neo4j[\]-]", nodeid):
                return "neo4j"
            return str(super()._split_scope(nodeid))

    return OneWorkerOnNeo4j(config, log)


def require_engine(engine: str) -> None:
    """Skip the test where the engine's programs are missing; in CI that is a failure."""
    missing = [program for program in ("java", "mvn") if engine == "neo4j" and shutil.which(program) is None]
    if missing:
        reason = f"Neo4j needs {' and '.join(missing)}, not found on the PATH"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def users_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's own folder, of which tests use only downloads; all else goes into a folder of the run."""
    users, own = kgprobe_home(), run_folder(tmp_path_factory) / "home"
    (users / "models").mkdir(parents=True, exist_ok=True)
    own.mkdir(exist_ok=True)
    for download in (users / "models", *users.glob("neo4j-*/")):
        with suppress(FileExistsError):
            (own / download.name).symlink_to(download)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KGPROBE_HOME", str(own))
        yield users


@pytest.fixture(scope="session")
def start_server(users_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Endpoint]]:
    """Return a function that starts an engine's server, one for all workers, and returns this worker's database."""
    databases: dict[str, Endpoint] = {}
    with ExitStack() as servers:

        def start(engine: str) -> Endpoint:
            if engine not in databases:
                folder = run_folder(tmp_path_factory) / "servers" / engine
                # The download of Neo4j is kept on the machine.
                with pytest.MonkeyPatch.context() as patched:
                    patched.setenv("KGPROBE_HOME", str(users_home))
                    endpoint = servers.enter_context(open_graph(folder, engine=engine, memory=1024)).endpoint
                databases[engine] = add_database(endpoint, WORKER) if engine == "arcadedb" else endpoint
            return databases[engine]

        yield start


@pytest.fixture(scope="session")
def add_graph(start_server: Callable[[str], Endpoint]) -> Callable[[], Endpoint]:
    """Return a function that makes one more empty graph on the embedded engine."""
    number = itertools.count()
    return lambda: add_database(start_server("arcadedb"), f"{WORKER}_{next(number)}")


@pytest.fixture(scope="session")
def endpoint(request: pytest.FixtureRequest, start_server: Callable[[str], Endpoint]) -> Endpoint:
    """A running server: the embedded engine, and Neo4j where the engine is the test's subject."""
    require_engine(request.param)
    return start_server(request.param)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own for all files that kgprobe stores."""
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def module_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder of the module's own for all files that kgprobe stores."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KGPROBE_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def second_endpoint(add_graph: Callable[[], Endpoint]) -> Endpoint:
    """A second graph on the embedded engine."""
    return add_graph()


@pytest.fixture
def graph(endpoint: Endpoint) -> Iterator[Graph]:
    """A connection to an empty graph."""
    with Graph(endpoint) as connection:
        wipe(connection)
        yield connection


@pytest.fixture(scope="session")
def example_endpoint(add_graph: Callable[[], Endpoint]) -> Endpoint:
    """The example graph, one for all tests of a worker: they may add runs to it and change nothing else."""
    endpoint = add_graph()
    with Graph(endpoint) as graph:
        load(graph, open_example())
    return endpoint


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data that is too large for the repository."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is missing next to the repository")
    return folder


@pytest.fixture(scope="session")
def demo_folder(users_home: Path) -> Path:
    """The converted demo model, in the user's own folder so that a machine converts it once.

    A test with a ``KGPROBE_HOME`` of its own can link its ``models`` to this folder's parent.
    """
    from kgprobe.models.demo import demo_model_folder

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KGPROBE_HOME", str(users_home))
        return demo_model_folder()


@pytest.fixture(scope="session")
def tiny_demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with random weights and the demo's architecture, where a user's own folder has the demo model."""
    from kgprobe.models.demo import demo_model_path
    from tests.models.tiny import save_base

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KGPROBE_HOME", str(tmp_path_factory.mktemp("tiny")))
        folder = demo_model_path()
    save_base(folder, "gemma3", max_position_embeddings=32_768)
    return folder


@pytest.fixture(params=["tiny", pytest.param("gemma", marks=pytest.mark.slow)])
def demo_models(request: pytest.FixtureRequest) -> Path:
    """The folder ``models`` of a user's own folder: with a tiny demo model, in slow tests the real one."""
    if request.param == "tiny":
        return Path(request.getfixturevalue("tiny_demo_folder")).parent
    request.getfixturevalue("shared_demo")
    return Path(request.getfixturevalue("demo_folder")).parent


@pytest.fixture(scope="session")
def api_model(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A real server for the whole run, the demo model with a chat template: what it calls its model, and its URL."""
    from tests.models.serving import serve, with_chat_template

    folder = run_folder(tmp_path_factory) / "served"
    model = folder / "model"

    @contextmanager
    def started(folder: Path) -> Iterator[str]:
        if not model.exists():
            with_chat_template(demo_folder, model)
        with serve(model, folder / "log") as url:
            yield url

    with shared_process(folder, started) as url:
        yield str(model), url


@pytest.fixture(scope="session")
def demo_scorer(demo_folder: Path) -> "Scorer":
    """The demo model, loaded once for the whole run."""
    from kgprobe.models.spec import load_scorer

    assert demo_folder.is_dir()
    return load_scorer("demo")


@pytest.fixture
def shared_demo(demo_scorer: "Scorer", monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the demo model of the whole run where a test names it: loading one takes seconds."""
    from kgprobe.models import spec

    load = spec.load_scorer

    def shared(named: str, **how: Any) -> "Scorer":
        return demo_scorer if named == "demo" else load(named, **how)

    monkeypatch.setattr("kgprobe.models.spec.load_scorer", shared)
