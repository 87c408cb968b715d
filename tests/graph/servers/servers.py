"""Commands and servers as processes, for tests of what happens between them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil


def kgprobe(*arguments: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return subprocess.run(
        [sys.executable, "-m", "kgprobe", *arguments],
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment() | environment,
        check=False,
    )


def clean_environment() -> dict[str, str]:
    """This process's environment without a graph that the developer may have set."""
    return {name: value for name, value in os.environ.items() if not name.startswith("KGPROBE_GRAPH")}


def holder(folder: Path) -> subprocess.Popen[str]:
    """Return a process that uses the graph until its stdin is closed; returns when it does."""
    program = (
        "import sys\n"
        "from kgprobe.graph.servers.opening import open_graph\n"
        "from kgprobe.graph.servers.signals import ending_in_order\n"
        "with ending_in_order(), open_graph(sys.argv[1]) as graph:\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def leave(process: subprocess.Popen[str]) -> None:
    """Let a holder go, and see that it ends well."""
    process.communicate(timeout=300)
    assert process.returncode == 0


def servers_on(folder: Path) -> list[psutil.Process]:
    """Return the server processes on a graph's folder, by what they were started with; any number may be a mistake."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if f"-Dkgprobe.graph={folder}" in (process.info["cmdline"] or ())
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def wait_for(condition: Callable[[], Any], seconds: float = 600.0) -> Any:
    """Return the condition's value as soon as it is true; a failure if it never is."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value
