"""Neo4j Community from Maven Central, without docker: downloaded once, started like the embedded engine.

The user's ``mvn``, with its settings, resolves the libraries from the project file neo4j_server.xml in this folder.
"""

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

from filelock import FileLock

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import appearing, home
from kgprobe.base.progress import print_message, progress_bar, waiting
from kgprobe.graph.servers.engine import GraphEngine, Launch
from kgprobe.graph.servers.processes import java_environment, maven_environment, run_program

_USER = "neo4j"
_VERSION_VARIABLE = "KGPROBE_NEO4J_VERSION"
_MEGABYTES = 140
# Maven's message after each download.
_DOWNLOADED = re.compile(r"Downloaded from .* \((\d+(?:\.\d+)?) (B|kB|MB|GB)\b")
_MEGABYTES_PER_UNIT = {"B": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3}
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
# Entry of the kernel's jar with the class that starts a server; the class differs between versions.
_ENTRY_POINT = "META-INF/services/org.neo4j.server.startup.EntryPoint"

# Packages of Java that Neo4j's server and import access by reflection.
_OPEN_PACKAGES = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
]


def _project() -> str:
    return files("kgprobe.graph.servers").joinpath("neo4j_server.xml").read_text(encoding="utf-8")


def _default_version() -> str:
    project = ElementTree.fromstring(_project())  # noqa: S314  (our own file)
    version = project.findtext("{*}properties/{*}neo4j.version")
    assert version is not None  # noqa: S101
    return version


def _version(own: Path) -> str:
    """Return the version of Neo4j for a graph; the environment variable applies only to new graphs.

    A newer Neo4j converts a database so that an older one cannot read it. Therefore the version is stored with the
    graph.
    """
    kept = own / "version"
    if kept.is_file():
        return kept.read_text(encoding="utf-8").strip()
    chosen = os.environ.get(_VERSION_VARIABLE)
    if not chosen or (own / "data").exists():
        return _default_version()
    if re.fullmatch(r"\d+(\.\d+)+", chosen) is None:
        raise KgprobeError(f"{_VERSION_VARIABLE} is {chosen!r}; a version of Neo4j is expected, such as 2026.08.1.")
    return chosen


def _keep_version(own: Path, version: str) -> None:
    """Store a chosen version. Graphs of the default version store none and follow the default."""
    if version != _default_version():
        (own / "version").write_text(f"{version}\n", encoding="utf-8")


def _java_program() -> str:
    """Return the path of the program java, if it is installed."""
    java_home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(java_home) / "bin")) if java_home else shutil.which("java")
    if java is None:
        place = f"JAVA_HOME={java_home} has none" if java_home else "there is none on the PATH"
        raise KgprobeError(f"Neo4j needs the program java, and {place}. Install Java 21, or set JAVA_HOME.")
    return java


def _java(version: str, jars: Path) -> str:
    """Return the path of the program java, if it is not older than the one that a version of Neo4j was built for."""
    java = _java_program()
    manifest = _kernel_entry(version, jars, "META-INF/MANIFEST.MF")
    built_for = re.search(r"^Build-Jdk-Spec: (\d+)", manifest, re.MULTILINE)
    needed = int(built_for[1]) if built_for else 0
    command = [java, "-version"]
    output = subprocess.run(command, capture_output=True, text=True, check=False, env=java_environment()).stderr
    number = re.search(r'version "(\d+)', output)
    if number is None or int(number[1]) < needed:
        installed = f"version {number[1]}" if number else "of an unknown version"
        raise KgprobeError(
            f"Neo4j {version} needs Java {needed} or later; {java} is {installed}. Install Java {needed}, and set"
            " JAVA_HOME to its folder."
        )
    return java


def _kernel_entry(version: str, jars: Path, name: str) -> str:
    """Return the content of a text file in the jar of Neo4j's kernel."""
    path = jars / f"neo4j-{version}.jar"
    try:
        with zipfile.ZipFile(path) as jar:
            return jar.read(name).decode()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise KgprobeError(
            f"{path} does not contain {name} ({error}). If the download of Neo4j {version} is damaged, delete"
            f" {jars.parent} and try again. Otherwise, kgprobe cannot start this version of Neo4j."
        ) from error


def _prepare(own: Path) -> str:
    version = _version(own)
    # Check for java before the download.
    _java_program()
    _java(version, libraries(version))
    return version


def missing_download() -> int | None:
    """Return the size of the download of Neo4j that a new graph needs, in megabytes; None if it is on this machine."""
    version = os.environ.get(_VERSION_VARIABLE) or _default_version()
    return None if (home() / f"neo4j-{version}").is_dir() else _MEGABYTES


def libraries(version: str) -> Path:
    """Return the folder with Neo4j's jars, downloaded from Maven Central at the first call."""
    folder = home() / f"neo4j-{version}"
    if folder.is_dir():
        return folder / "lib"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with waiting("Waiting for another process that downloads Neo4j"), FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            _download(folder, version)
    return folder / "lib"


def _download(folder: Path, version: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise KgprobeError(
            "Downloading Neo4j needs the program mvn (Apache Maven), which is not on the PATH. Install Maven, "
            "run Neo4j with docker/compose.yaml, or omit `engine`."
        )
    print_message(f"Downloading Neo4j {version} from Maven Central, about {_MEGABYTES} MB, once …")
    with appearing(folder) as partial:
        (partial / "pom.xml").write_text(_project(), encoding="utf-8")
        settings = [f"-Dneo4j.version={version}", f"-DoutputDirectory={partial / 'lib'}"]
        command = [maven, "-B", "-f", str(partial / "pom.xml"), _COPY, *settings]
        output: list[str] = []
        files = megabytes = 0.0
        with progress_bar("Downloading Neo4j", _MEGABYTES, "files", counted=False) as bar:

            def follow(line: str) -> None:
                nonlocal files, megabytes
                output.append(line)
                downloaded = _DOWNLOADED.search(line)
                if downloaded is not None:
                    files += 1
                    megabytes += float(downloaded[1]) * _MEGABYTES_PER_UNIT[downloaded[2]]
                    bar.move_to(min(megabytes, _MEGABYTES), files, f"{megabytes:.0f} of about {_MEGABYTES} MB")

            code = run_program(command, maven_environment(), follow)
        if code != 0:
            errors = [line for line in output if line.startswith("[ERROR]")]
            raise KgprobeError(f"mvn could not download Neo4j {version}:\n" + "\n".join(errors[:5] or ["no reason"]))


def _quoted(argument: object) -> str:
    # Syntax of java's argument files: double quotes; backslashes before quotes and backslashes.
    return '"' + str(argument).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _set_password(java: str, jars: Path, launch: Launch) -> None:
    """Set Neo4j's initial password with its tool.

    The tool takes the password as an argument. Java reads the arguments from a file that only the owner can read, so
    that ``ps`` does not show them.
    """
    arguments = [
        "-cp",
        jars / "*",
        # Not Neo4jAdminCommand: it would start a second process with the password among its arguments.
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
        raise KgprobeError(f"Neo4j's initial password could not be set: {(done.stderr or done.stdout).strip()[:500]}")


def admin_command(
    home_folder: Path, arguments: Sequence[str], heap: int, marks: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Return the command line and environment of Neo4j's admin tool for the engine's subfolder of a graph's folder.

    Args:
        heap: Java heap in MiB.
        marks: arguments of java that only identify the process.
    """
    version = _version(home_folder)
    jars = libraries(version)
    java = _java(version, jars)
    options = [*marks, f"-Xmx{heap}m", *_OPEN_PACKAGES, "-cp", str(jars / "*")]
    command = [java, *options, "org.neo4j.cli.AdminTool", *arguments]
    configuration = home_folder / "conf"
    configuration.mkdir(parents=True, exist_ok=True)
    _keep_version(home_folder, version)
    return command, java_environment() | {"NEO4J_HOME": str(home_folder), "NEO4J_CONF": str(configuration)}


def _command(launch: Launch) -> list[str]:
    version = _version(launch.folder)
    jars = libraries(version)
    java = _java(version, jars)
    _keep_version(launch.folder, version)
    # Neo4j caches data in a page cache outside of the Java heap; both get half.
    half = max(launch.memory // 2, 256)
    settings = {
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.listen_address": f"127.0.0.1:{launch.bolt_port}",
        # The Browser connects to the advertised address.
        "server.bolt.advertised_address": f"127.0.0.1:{launch.bolt_port}",
        "server.http.listen_address": f"127.0.0.1:{launch.http_port}",
        "server.http.advertised_address": f"127.0.0.1:{launch.http_port}",
        "server.https.enabled": "false",
        # Without a folder for imports, Cypher could read every file of the user.
        "dbms.security.allow_csv_import_from_file_urls": "false",
        "server.memory.pagecache.size": f"{half}m",
        # Hosts from which the Browser may load `:style` and `:play`.
        "browser.remote_content_hostname_whitelist": "localhost,127.0.0.1,guides.neo4j.com",
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
    }
    configuration = launch.folder / "conf"
    configuration.mkdir(exist_ok=True)
    (configuration / "neo4j.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    if not (launch.folder / "data" / "databases" / "system").exists():
        _set_password(java, jars, launch)
    return [
        java,
        f"-Xmx{half}m",
        *_OPEN_PACKAGES,
        "-cp",
        str(jars / "*"),
        _kernel_entry(version, jars, _ENTRY_POINT).split("#")[0].split()[0],
        f"--home-dir={launch.folder}",
        f"--config-dir={configuration}",
    ]


ENGINE = GraphEngine(
    name="neo4j",
    user=_USER,
    database="neo4j",
    data="data/databases/neo4j",
    page="/browser/",
    prepare=_prepare,
    command=_command,
)
