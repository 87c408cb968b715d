"""ArcadeDB from the wheel ``arcadedb-embedded``, with its own Java runtime and the Bolt plug-in."""

import importlib.metadata
import importlib.util
from pathlib import Path

from kgprobe.base.errors import KgprobeError, how_to_install
from kgprobe.graph.servers.engine import GraphEngine, Launch

_DATABASE = "kg"
_USER = "root"


def _package() -> Path:
    # Not imported: that would load a bridge from Python to Java, which the child process does not need.
    spec = importlib.util.find_spec("arcadedb_embedded")
    if spec is None or spec.origin is None:
        raise KgprobeError(
            f"The embedded graph engine is not installed: {how_to_install('embedded')}, or use a running Neo4j with"
            " KGPROBE_GRAPH=bolt://…"
        )
    return Path(spec.origin).parent


def _prepare(_: Path) -> str:
    _package()
    return importlib.metadata.version("arcadedb-embedded")


def _command(launch: Launch) -> list[str]:
    package = _package()
    settings = {
        "server.rootPath": launch.folder,
        "server.rootPasswordPath": launch.password_file,
        "server.defaultDatabases": f"{_DATABASE}[{_USER}]",
        # Production mode hides the details of every error in a statement. Its other restriction, no LOAD CSV of local
        # files, is set separately.
        "server.mode": "development",
        "opencypher.loadCsv.allowFileUrls": "false",
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": launch.http_port,
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "bolt.host": "127.0.0.1",
        "bolt.port": launch.bolt_port,
        # Flush every commit to the disk before acknowledging it.
        "txWalFlush": 2,
    }
    return [
        str(package / "jre" / "bin" / "java"),
        f"-Xmx{launch.memory}m",
        "--add-modules",
        "jdk.incubator.vector",
        *(f"-Darcadedb.{key}={value}" for key, value in settings.items()),
        "-cp",
        str(package / "jars" / "*"),
        "com.arcadedb.server.ArcadeDBServer",
    ]


ENGINE = GraphEngine(
    name="arcadedb",
    user=_USER,
    database=_DATABASE,
    data=f"databases/{_DATABASE}",
    page=None,
    prepare=_prepare,
    command=_command,
)
