"""ArcadeDB from the wheel ``arcadedb-embedded``: its own Java runtime, a Bolt plug-in, no set-up."""

import importlib.metadata
import importlib.util
from pathlib import Path

from kgprobe.errors import KgprobeError, how_to_install
from kgprobe.servers.engine import Engine, Launch

_DATABASE = "kg"
_USER = "root"


def _package() -> Path:
    # Found, not imported: importing it loads a bridge from Python to Java that a child process has no use for.
    found = importlib.util.find_spec("arcadedb_embedded")
    if found is None or found.origin is None:
        raise KgprobeError(
            f"The embedded graph engine is not installed: {how_to_install('embedded')}, or name a running Neo4j by"
            " KGPROBE_GRAPH=bolt://…"
        )
    return Path(found.origin).parent


def _prepare(_: Path) -> str:
    _package()
    return importlib.metadata.version("arcadedb-embedded")


def _command(launch: Launch) -> list[str]:
    package = _package()
    settings = {
        "server.rootPath": launch.folder,
        "server.rootPasswordPath": launch.password_file,
        "server.defaultDatabases": f"{_DATABASE}[{_USER}]",
        # In production mode it says of every mistake in a statement that there was one, and no more. What that mode
        # would forbid beside it is forbidden here: reading files of this machine by LOAD CSV.
        "server.mode": "development",
        "opencypher.loadCsv.allowFileUrls": "false",
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": launch.http_port,
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "bolt.host": "127.0.0.1",
        "bolt.port": launch.bolt_port,
        # Every commit is on the disk before it is acknowledged.
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


ENGINE = Engine(
    name="arcadedb",
    user=_USER,
    database=_DATABASE,
    data=f"databases/{_DATABASE}",
    page=None,
    prepare=_prepare,
    command=_command,
)
