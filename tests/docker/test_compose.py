"""The compose file, as far as it can be checked without docker: its form, its commands, and its steps run outside."""

import dataclasses
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kgprobe.graph.servers.engine import Launch
from kgprobe.graph.servers.engines import ENGINES
from kgprobe.graph.servers.folder import folder_of
from kgprobe.graph.servers.leases import stop
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.server import status_of
from tests.chromium import WAIT, chromium
from tests.cli.inprocess import run as typed
from tests.cli.test_browser import COLOURS
from tests.conftest import REPOSITORY, require_engine
from tests.graph.servers.servers import clean_environment
from tests.neo4j_browser import connect, drawn, run
from tests.test_documents import commands_in, problems_of

FOLDER = REPOSITORY / "docker"
PASSWORD = "a-password-of-tests"
SCRIPT = "demo.sh"


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """Return what compose makes of ``${NAME:-default}``, ``${NAME:?message}`` and ``$$``."""

    def value(found: re.Match[str]) -> str:
        if found["name"] is None:
            return "$"
        given = variables.get(found["name"], "")
        assert given or found["kind"] == ":-", found["rest"]
        return given or found["rest"]

    return re.sub(r"\$(?:\$|\{(?P<name>\w+)(?P<kind>:[-?])(?P<rest>[^}]*)\})", value, text)


def compose(name: str = "compose.yaml", **variables: str) -> dict[str, Any]:
    """Return a compose file as it is read with these variables."""
    yaml = pytest.importorskip("yaml")
    text = (FOLDER / name).read_text(encoding="utf-8")
    read: dict[str, Any] = yaml.safe_load(interpolated(text, {"NEO4J_PASSWORD": PASSWORD, **variables}))
    return read


def kgprobe_commands(services: Mapping[str, Any]) -> list[list[str]]:
    """Return the arguments of each kgprobe that a service starts."""
    found = []
    for service in services.values():
        if str(service.get("image", "")).startswith("kgprobe:") and "command" in service:
            if "entrypoint" in service:
                (script,) = service["command"]
                found += [each for line in script.splitlines() for each in commands_in(line)]
            else:
                found.append(service["command"])
    return found


def test_services_are_pinned_closed_and_declared() -> None:
    read = compose()
    services = read["services"]
    assert set(services) == {"neo4j", "browser-files", "kgprobe", "demo"}
    for name, service in services.items():
        image = re.sub(r"\$\{\w+:-([\w.]+)\}", r"\1", service["image"])
        assert re.fullmatch(r"[\w./-]+:\w[\w.-]*", image), "an image has a version"
        assert not service["image"].endswith(":latest")
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "nothing is open to the network unless it is asked for"
        for volume in service.get("volumes", ()):
            assert volume.partition(":")[0] in read["volumes"]
        for other in service.get("depends_on", ()):
            assert "healthcheck" in services[other], f"{name} waits until {other} is healthy"
    # What `up` starts, and what waits for `run`.
    assert {name for name, service in services.items() if "profiles" not in service} == {"neo4j", "browser-files"}
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    assert not re.search(r"(?i)(password|token|api_key)[^\n]*:[ ]*[^\s$\"]*\w{8,}$", text.replace("set NEO4J", ""))
    dockerfile = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    built = services["kgprobe"]["build"]
    assert (FOLDER / built["context"] / built["dockerfile"]).resolve() == FOLDER / "Dockerfile"
    assert all(f"\nARG {name}=" in dockerfile for name in built["args"])
    assert compose("compose.cuda.yaml")["services"].keys() <= services.keys()


def test_variables_are_in_the_example_and_explained() -> None:
    used = set()
    for name in ("compose.yaml", "compose.cuda.yaml"):
        used |= set(re.findall(r"(?<!\$)\$\{(\w+)", (FOLDER / name).read_text(encoding="utf-8")))
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in sorted(used) if f"| `{name}` |" not in readme] == []
    example = (FOLDER / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"^(\w+)=", example, re.MULTILINE)) <= used
    # Nobody's password is a default.
    assert "NEO4J_PASSWORD=\n" in example


def test_commands_exist_with_their_options() -> None:
    commands = kgprobe_commands(compose()["services"])
    assert [command[:2] for command in commands] == [["graph", "browser"], ["demo", "--graph"], ["beliefs", "paint"]]
    assert [problem for command in commands for problem in problems_of(command)] == []


def test_docker_compose_takes_the_files() -> None:
    command = next((each for each in (["docker", "compose"], ["docker-compose"]) if _works(each)), None)
    if command is None:
        pytest.skip("there is neither `docker compose` nor `docker-compose`")
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    for files in (["compose.yaml"], ["compose.yaml", "compose.cuda.yaml"]):
        named = [word for file in files for word in ("-f", str(FOLDER / file))]
        call = [*command, *named, "--profile", "ask", "config", "--format", "json"]
        done = subprocess.run(
            call, env=environment | {"NEO4J_PASSWORD": PASSWORD}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        services = json.loads(done.stdout)["services"]
        cuda = len(files) == 2
        for name in ("browser-files", "kgprobe", "demo"):
            assert services[name]["image"] == f"kgprobe:{'cuda' if cuda else 'cpu'}"
            assert services[name]["build"]["args"]["ACCELERATOR"] == ("cuda" if cuda else "cpu")
            assert ("deploy" in services[name]) == (cuda and name != "browser-files")
        refused = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
        assert "set NEO4J_PASSWORD in docker/.env" in refused.stderr


def _works(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0


def test_script_makes_a_password_once_and_starts(tmp_path: Path) -> None:
    for name in (SCRIPT, ".env.example"):
        (tmp_path / "docker").mkdir(exist_ok=True)
        shutil.copy(FOLDER / name, tmp_path / "docker" / name)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("docker", "xdg-open"):
        # Not docker, but who writes down what docker would be asked.
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "{tmp_path}/asked"\n')
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    passwords = []
    for _ in range(2):
        done = subprocess.run(
            ["/bin/sh", str(tmp_path / "docker" / SCRIPT)], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        written = tmp_path / "docker" / ".env"
        assert stat.S_IMODE(written.stat().st_mode) == 0o600
        passwords.append(re.search(r"^NEO4J_PASSWORD=([0-9a-f]{32})$", written.read_text(), re.MULTILINE)[1])  # type: ignore[index]
        assert passwords[0] not in done.stdout + done.stderr
    assert passwords[0] == passwords[1]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[: len(asked) // 2] == [
        "docker compose up --build --detach --wait neo4j browser-files",
        "docker compose run --rm demo",
        "xdg-open http://localhost:7474/browser/",
    ]


# The steps, outside


def settings_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Neo4j's settings, as its image makes them of variables: _ is a dot, and two of them are one."""
    names = {name: name.removeprefix("NEO4J_").replace("_", ".").replace("..", "_") for name in environment}
    return {setting: environment[name] for name, setting in names.items() if name != "NEO4J_AUTH"}


@contextmanager
def process(arguments: list[str], home: Path) -> Iterator[None]:
    """Provide a service that stays, until it is asked to end, as docker does."""
    with subprocess.Popen(
        [sys.executable, "-m", "kgprobe", *arguments],
        env=clean_environment() | {"KGPROBE_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as service:
        try:
            yield
        finally:
            service.terminate()
            assert service.wait(300) == 128 + 15


def healthy(service: Mapping[str, Any]) -> bool:
    """Return whether a service's own check passes before its retries are used up."""
    program, *rest = service["healthcheck"]["test"][1:]
    assert program == "python"
    for _ in range(service["healthcheck"]["retries"]):
        if subprocess.run([sys.executable, *rest], capture_output=True, check=False).returncode == 0:
            return True
        # It was started this moment; docker looks every ten seconds.
        subprocess.run(["sleep", "2"], check=True)
    return False


def test_demo_and_browser_outside_of_docker(tmp_path: Path, demo_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_engine("neo4j")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    services = compose(BROWSER_FILES_PORT=str(port))["services"]
    neo4j = ENGINES["neo4j"]
    of_browser = {
        name: value for name, value in settings_of(services["neo4j"]["environment"]).items() if name[:8] == "browser."
    }
    assert set(of_browser) == {"browser.remote_content_hostname_whitelist", "browser.post_connect_cmd"}

    def command(launch: Launch) -> list[str]:
        made = neo4j.command(launch)
        configuration = launch.folder / "conf" / "neo4j.conf"
        own = [line for line in configuration.read_text().splitlines() if line.partition("=")[0] not in of_browser]
        configuration.write_text("\n".join([*own, *(f"{name}={value}" for name, value in of_browser.items())]) + "\n")
        return made

    monkeypatch.setitem(ENGINES, "neo4j", dataclasses.replace(neo4j, command=command))  # type: ignore[arg-type]
    home, folder = tmp_path / "home", tmp_path / "graph"
    home.mkdir()
    (home / "models").symlink_to(demo_models)
    try:
        with (
            chromium() as browser,
            open_graph(folder, engine="neo4j", memory=1024) as graph,
            process(services["browser-files"]["command"], home),
        ):
            where = graph.endpoint
            variables = {
                "KGPROBE_HOME": str(home),
                "KGPROBE_GRAPH": where.address,
                "KGPROBE_GRAPH_PASSWORD": where.password,
            }
            (script,) = services["demo"]["command"]
            script = script.replace('"$KGPROBE_GRAPH"', where.address)
            for arguments in (each for line in script.splitlines() for each in commands_in(line)):
                # A few questions show as much as all of them.
                few = ["--rounds", "1", "--facts-per-round", "12"] if arguments[0] == "demo" else []
                done = typed(*arguments, *few, **variables)
                assert done.returncode == 0, done.stderr
            assert healthy(services["browser-files"])
            status = status_of(folder_of(folder))
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            connect(page, str(status.browser), Path(str(status.password_file)))
            # Nothing is typed: guide and colours are there.
            page.get_by_text("What does a model know?").wait_for(timeout=WAIT)
            page.get_by_text(f":style http://localhost:{port}/kgprobe-painted.grass").first.wait_for(timeout=WAIT)
            picture = run(page, "MATCH path = (:Entity)-[painted]->(:Entity) WHERE painted.run IS NOT NULL RETURN path")
            painted = sum(row["count"] for row in graph.read("paint/counts"))
            assert sum(drawn(picture, colour) for colour in COLOURS.values()) == painted > 5
    finally:
        stop(folder_of(folder), force=True)
