"""Processes told apart for certain, and ports of the loopback interface."""

import contextlib
import itertools
import random
import socket
import time
from dataclasses import dataclass

import psutil

LOOPBACK = "127.0.0.1"

# Below those that a system gives to whoever connects somewhere: a server that was away finds its port free again.
_LASTING_PORTS = range(20_000, 32_000)

# A process that reuses the number of an earlier one began much later. The difference is not zero because the system's
# clock, from which creation times are reckoned, may be set anew.
_SAME_BEGINNING_SECONDS = 60.0

# How long the system may take to end a process that it was told to kill.
_KILL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ProcessKey:
    """A process: its number, and when it began (seconds since 1970), because numbers are used again."""

    pid: int
    created: float


def key_of(pid: int) -> ProcessKey:
    """The key of a process that runs now."""
    return ProcessKey(pid, psutil.Process(pid).create_time())


def find(key: ProcessKey) -> psutil.Process | None:
    """The process if it still runs, else None; another process of the same number is not it."""
    try:
        process = psutil.Process(key.pid)
        began = process.create_time()
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
    except psutil.NoSuchProcess:
        return None
    return process if abs(began - key.created) < _SAME_BEGINNING_SECONDS else None


def with_argument(argument: str) -> list[psutil.Process]:
    """The processes that were started with exactly that argument."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if argument in (process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def terminate(process: psutil.Process, patience: float) -> None:
    """End a process: ask, wait that many seconds, then kill; it is gone on return."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        # One that was stopped (SIGSTOP) would not hear of it.
        process.resume()
        if not _ends_within(process, patience):
            process.kill()
            _ends_within(process, _KILL_SECONDS)


def _ends_within(process: psutil.Process, seconds: float) -> bool:
    # psutil's own wait() would wait for a zombie's parent, which may be a command that sits idle for hours.
    deadline = time.monotonic() + seconds
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def free_ports(count: int) -> list[int]:
    """Distinct ports that nobody uses at this moment, and that systems do not give to connections of programs."""
    drawn = random.sample(_LASTING_PORTS, len(_LASTING_PORTS))
    return list(itertools.islice(filter(is_free, drawn), count))


def is_free(port: int) -> bool:
    """Whether one could listen on that loopback port."""
    with socket.socket() as listener:
        # As servers do: what is left of ended connections does not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
            listener.listen()
        except OSError:
            return False
        return True


def is_open(port: int) -> bool:
    """Whether somebody listens on that loopback port."""
    with socket.socket() as client:
        client.settimeout(1.0)
        return client.connect_ex((LOOPBACK, port)) == 0


def listens_on(process: psutil.Process) -> set[int]:
    """The ports on which the process itself listens; none where it has ended."""
    try:
        connections = process.net_connections(kind="tcp")
    except psutil.NoSuchProcess:
        return set()
    return {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN and each.laddr}
