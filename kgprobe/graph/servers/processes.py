"""Processes identified by number and start time, their environment variables, and ports of the loopback interface.

Other users may be able to read the environment of a process, and crash reports contain it. It may hold secret keys of
any kind. Therefore only listed variables are passed on.
"""

import contextlib
import itertools
import os
import random
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

# Paths of programs and libraries, the user, folders of temporary files, language and time zone.
_COMMON = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "LD_LIBRARY_PATH"),
    *("SYSTEMROOT", "USERPROFILE"),
)
# Path and options of Java.
_JAVA = ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# Maven accesses the network.
_MAVEN = ("M2_HOME", "MAVEN_HOME", "MAVEN_OPTS", "MAVEN_ARGS", "MAVEN_CONFIG", "MAVEN_USER_HOME")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy")

_SETTINGS_VARIABLE = re.compile(r"\$\{env\.([^}]+)\}")


def java_environment() -> dict[str, str]:
    """Return the environment of a Java program that only kgprobe connects to."""
    return _variables((*_COMMON, *_JAVA))


def maven_environment() -> dict[str, str]:
    """Return Maven's environment: proxies, its own variables, and those that the user's settings refer to."""
    try:
        settings = (Path.home() / ".m2" / "settings.xml").read_text(encoding="utf-8", errors="replace")
    except (OSError, RuntimeError):
        settings = ""
    return _variables((*_COMMON, *_JAVA, *_MAVEN, *_PROXIES, *_SETTINGS_VARIABLE.findall(settings)))


def _variables(names: Iterable[str]) -> dict[str, str]:
    locale = [name for name in os.environ if name.startswith("LC_")]
    return {name: os.environ[name] for name in (*names, *locale) if name in os.environ}


LOOPBACK = "127.0.0.1"

# Below the ephemeral ports of outgoing connections, so that a restarted server finds its port free.
_LASTING_PORTS = range(20_000, 32_000)

# A process that reuses the number of an earlier one began much later. The tolerance allows for corrections of the
# system's clock.
_SAME_BEGINNING_SECONDS = 60.0

# Longest wait for the end of a killed process.
_KILL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ProcessKey:
    """A process: its number and start time (seconds since 1970), because numbers are reused."""

    pid: int
    created: float


def key_of(pid: int) -> ProcessKey:
    """Return the key of a running process."""
    return ProcessKey(pid, psutil.Process(pid).create_time())


def find(key: ProcessKey) -> psutil.Process | None:
    """Return the process if it still runs, else None."""
    try:
        process = psutil.Process(key.pid)
        began = process.create_time()
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
    except psutil.NoSuchProcess:
        return None
    return process if abs(began - key.created) < _SAME_BEGINNING_SECONDS else None


def with_argument(argument: str) -> list[psutil.Process]:
    """Return the running processes with exactly that command-line argument."""
    running = []
    for process in psutil.process_iter(["cmdline", "status"]):
        arguments, status = process.info["cmdline"] or (), process.info["status"]
        if argument in arguments and status != psutil.STATUS_ZOMBIE:
            running.append(process)
    return running


def run_program(
    command: list[str],
    environment: dict[str, str],
    on_line: Callable[[str], None],
    *,
    directory: Path | None = None,
    own_session: bool = False,
) -> int:
    """Run a program and return its exit code; an error or Ctrl-C in this process terminates it.

    Args:
        on_line: called with each line of its output, without the line break.
        own_session: True if Ctrl-C in the terminal must not reach the program.
    """
    with subprocess.Popen(
        command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=own_session,
    ) as process:
        try:
            for line in process.stdout or ():
                on_line(line.rstrip("\n"))
        except BaseException:
            process.terminate()
            raise
    return process.returncode


def terminate(process: psutil.Process, patience: float) -> None:
    """End a process: terminate it, wait ``patience`` seconds, then kill it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        # A stopped process (SIGSTOP) would not receive the signal.
        process.resume()
        if not _ends_within(process, patience):
            process.kill()
            _ends_within(process, _KILL_SECONDS)


def _ends_within(process: psutil.Process, seconds: float) -> bool:
    # psutil's wait() would also wait for the parent of a zombie, possibly for hours.
    deadline = time.monotonic() + seconds
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def free_ports(count: int) -> list[int]:
    """Return distinct free ports, outside of the ephemeral ports."""
    candidates = random.sample(_LASTING_PORTS, len(_LASTING_PORTS))
    return list(itertools.islice(filter(is_free, candidates), count))


def is_free(port: int) -> bool:
    """Return True if a program could listen on that loopback port."""
    with socket.socket() as listener:
        # As servers do: ignore closed connections in TIME_WAIT.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
            listener.listen()
        except OSError:
            return False
        return True


def is_open(port: int) -> bool:
    """Return True if a program listens on that loopback port."""
    with socket.socket() as client:
        client.settimeout(1.0)
        return client.connect_ex((LOOPBACK, port)) == 0


def listens_on(process: psutil.Process) -> set[int]:
    """Return the ports on which the process listens; none if it has ended."""
    try:
        connections = process.net_connections(kind="tcp")
    except psutil.NoSuchProcess:
        return set()
    return {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN and each.laddr}
