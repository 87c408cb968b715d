"""Neo4j Community from Maven Central, without docker: downloaded once, started like the embedded engine.

The libraries are resolved with the user's own ``mvn`` and its settings, from the project file beside this module.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

from filelock import FileLock

from kgprobe.errors import KgprobeError
from kgprobe.files import appearing, home
from kgprobe.progress import progress_bar, tell, waiting
from kgprobe.servers.engine import Engine, Launch
from kgprobe.servers.environment import java_environment, maven_environment

_USER = "neo4j"
_JAVA_VERSIONS = (17, 21)
_MEGABYTES = 140
# How Maven says that a file has come.
_DOWNLOADED = re.compile(r"Downloaded from .* \((\d+(?:\.\d+)?) (B|kB|MB|GB)\b")
_OF_A_MEGABYTE = {"B": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3}
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def _project() -> str:
    return files("kgprobe.servers").joinpath("neo4j_server.xml").read_text(encoding="utf-8")


def _version() -> str:
    found = ElementTree.fromstring(_project()).findtext("{*}version")  # noqa: S314  (our own file)
    assert found is not None  # noqa: S101
    return found


def _java() -> str:
    """The Java machine that Neo4j 5 runs on.

    Raises:
        KgprobeError: there is none, or it has another version.
    """
    wanted = " or ".join(map(str, _JAVA_VERSIONS))
    named = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(named) / "bin")) if named else shutil.which("java")
    if java is None:
        place = f"JAVA_HOME={named} has none" if named else "there is none on the PATH"
        raise KgprobeError(f"Neo4j needs the program java, version {wanted}, and {place}.")
    said = subprocess.run(
        [java, "-version"], capture_output=True, text=True, check=False, env=java_environment()
    ).stderr
    number = re.search(r'version "(\d+)', said)
    if number is None or int(number[1]) not in _JAVA_VERSIONS:
        what = f"version {number[1]}" if number else "of an unknown version"
        raise KgprobeError(f"Neo4j {_version()} needs Java {wanted}; {java} is {what}. JAVA_HOME chooses another one.")
    return java


def _prepare() -> str:
    _java()
    libraries()
    return _version()


def libraries() -> Path:
    """The folder with Neo4j's jars, downloaded from Maven Central at the first call.

    Raises:
        KgprobeError: ``mvn`` is missing or fails.
    """
    folder = home() / f"neo4j-{_version()}"
    if folder.is_dir():
        return folder / "lib"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with waiting("Waiting for another process that downloads Neo4j"), FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            _download(folder)
    return folder / "lib"


def _download(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise KgprobeError(
            "Neo4j is downloaded with the program mvn (Apache Maven), and there is none on the PATH. Install Maven, "
            "or run Neo4j by docker/compose.yaml, or leave `engine` out."
        )
    tell(f"Downloading Neo4j {_version()} from Maven Central, about {_MEGABYTES} MB, once …")
    with appearing(folder) as partial:
        (partial / "pom.xml").write_text(_project(), encoding="utf-8")
        command = [maven, "-B", "-f", str(partial / "pom.xml"), _COPY, f"-DoutputDirectory={partial / 'lib'}"]
        said, code = _run_maven(command)
        if code != 0:
            errors = [line for line in said if line.startswith("[ERROR]")]
            raise KgprobeError(f"mvn could not download Neo4j {_version()}:\n" + "\n".join(errors[:5] or ["no reason"]))


def _run_maven(command: list[str]) -> tuple[list[str], int]:
    """Run it with a bar of what it has downloaded; what it said, and its exit code."""
    said: list[str] = []
    files = megabytes = 0.0
    with (
        progress_bar("Downloading Neo4j", _MEGABYTES, "files", counted=False) as bar,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=maven_environment(),
        ) as process,
    ):
        try:
            for line in process.stdout or ():
                said.append(line.rstrip("\n"))
                downloaded = _DOWNLOADED.search(line)
                if downloaded is not None:
                    files += 1
                    megabytes += float(downloaded[1]) * _OF_A_MEGABYTE[downloaded[2]]
                    bar.move_to(min(megabytes, _MEGABYTES), files, f"{megabytes:.0f} of about {_MEGABYTES} MB")
        except BaseException:
            process.terminate()
            raise
    return said, process.returncode


def _quoted(argument: object) -> str:
    # The form that java's argument files take: double quotes, with backslashes before quotes and backslashes.
    return '"' + str(argument).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _set_password(java: str, jars: Path, launch: Launch) -> None:
    """Give Neo4j its first password, by its own tool.

    The tool takes the password as an argument. The Java machine reads its arguments from a file that only we can read,
    so that ``ps`` shows the file's name and nothing else.
    """
    arguments = [
        "-cp",
        jars / "*",
        # Not Neo4jAdminCommand, which would run this very class in a second process, the password among its arguments.
        "org.neo4j.cli.AdminTool",
        "dbms",
        "set-initial-password",
        launch.password_file.read_text(encoding="utf-8"),
    ]
    descriptor, name = tempfile.mkstemp(dir=launch.folder)  # made with mode 0600
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(map(_quoted, arguments)))
        environment = java_environment() | {"NEO4J_HOME": str(launch.folder), "NEO4J_CONF": str(launch.folder / "conf")}
        done = subprocess.run([java, f"@{name}"], capture_output=True, text=True, check=False, env=environment)
    finally:
        Path(name).unlink()
    if done.returncode != 0:
        raise KgprobeError(f"Neo4j's first password could not be set: {(done.stderr or done.stdout).strip()[:500]}")


def admin_command(
    home_folder: Path, arguments: Sequence[str], heap: int, marks: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Neo4j's own tool on the engine's part of a graph's folder, as a command line and its environment.

    Args:
        heap: MiB.
        marks: arguments of java without any meaning to it.

    Raises:
        KgprobeError: Java or Neo4j is missing.
    """
    command = [_java(), *marks, f"-Xmx{heap}m", "-cp", str(libraries() / "*"), "org.neo4j.cli.AdminTool", *arguments]
    configuration = home_folder / "conf"
    configuration.mkdir(parents=True, exist_ok=True)
    return command, java_environment() | {"NEO4J_HOME": str(home_folder), "NEO4J_CONF": str(configuration)}


def _command(launch: Launch) -> list[str]:
    java = _java()
    jars = libraries()
    # Neo4j keeps hot data in a page cache outside of the Java heap; both want about the same.
    half = max(launch.memory // 2, 256)
    settings = {
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.listen_address": f"127.0.0.1:{launch.bolt_port}",
        # The Browser connects to the advertised address.
        "server.bolt.advertised_address": f"127.0.0.1:{launch.bolt_port}",
        "server.http.listen_address": f"127.0.0.1:{launch.http_port}",
        "server.http.advertised_address": f"127.0.0.1:{launch.http_port}",
        "server.https.enabled": "false",
        # Without a folder of its own for imports, Cypher could read every file of ours.
        "dbms.security.allow_csv_import_from_file_urls": "false",
        "server.memory.pagecache.size": f"{half}m",
        # From where its page may load what one names by `:style` and `:play`.
        "browser.remote_content_hostname_whitelist": "localhost,127.0.0.1,guides.neo4j.com",
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
    }
    configuration = launch.folder / "conf"
    configuration.mkdir(exist_ok=True)
    (configuration / "neo4j.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    if not (launch.folder / "data" / "databases" / "system").exists():
        _set_password(java, jars, launch)
    packages = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
    return [
        java,
        f"-Xmx{half}m",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in packages),
        "-cp",
        str(jars / "*"),
        "org.neo4j.server.CommunityEntryPoint",
        f"--home-dir={launch.folder}",
        f"--config-dir={configuration}",
    ]


ENGINE = Engine(
    name="neo4j",
    user=_USER,
    database="neo4j",
    data="data/databases/neo4j",
    page="/browser/",
    prepare=_prepare,
    command=_command,
)
