"""Processes and servers that are killed at a moment which a test names: no clock decides where."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any
from unittest import mock

from kgprobe.answers.store import OutcomeStore
from kgprobe.graph.client import Graph, Transaction
from kgprobe.graph.endpoint import Endpoint
from tests.graph.servers.servers import servers_on
from tests.running.killed_run import HashProbe

# Children fork from a process that has imported everything, and no thread of the test's own.
_children = multiprocessing.get_context("forkserver")
_children.set_forkserver_preload(["kgprobe.running.rounds", "kgprobe.running.measurement", "kgprobe.graph.ingest"])

_CHILD_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a run or of a load.

    Attributes:
        when: ``before`` or ``after`` a statement of a transaction; once its transaction is ``committed``; ``unasked``,
            before the answer; ``unwritten``, ``torn`` or ``written``, of the trail behind it.
        query: the name of the statement, where it is about one.
        times: how often it has to come; at the last time it is the end.
    """

    when: str
    query: str = ""
    times: int = 1

    def __str__(self) -> str:
        return " ".join([self.when, self.query]).strip()


@contextmanager
def ending_at(moment: Moment, end: Callable[[], None]) -> Iterator[None]:
    """Call ``end`` at the moment, in this process."""
    left = moment.times

    def reached(prepare: Callable[[], None] = lambda: None) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            prepare()
            end()

    with _hook(moment, reached):
        yield


def _hook(moment: Moment, reached: Callable[..., None]) -> Any:
    match moment.when:
        case "before" | "after":
            return _around(Transaction, "run", reached, moment.when, lambda _, query: query == moment.query)
        case "committed":
            return _committed(moment.query, reached)
        case "unasked":
            return _around(HashProbe, "ask", reached, "before")
        case "unwritten" | "written":
            return _around(OutcomeStore, "append", reached, "before" if moment.when == "unwritten" else "after")
        case "torn":
            return _torn(reached)
    raise ValueError(moment.when)


def _around(
    owner: type, name: str, reached: Callable[[], None], when: str, is_it: Callable[..., bool] = lambda *_: True
) -> Any:
    original = getattr(owner, name)

    @wraps(original)
    def hooked(*arguments: Any, **named: Any) -> Any:
        meant = is_it(*arguments[:2])
        if meant and when == "before":
            reached()
        result = original(*arguments, **named)
        if meant and when == "after":
            reached()
        return result

    return mock.patch.object(owner, name, hooked)


@contextmanager
def _committed(query: str, reached: Callable[[], None]) -> Iterator[None]:
    run, transaction = Transaction.run, Graph.transaction
    seen = []

    def noted(self: Transaction, name: str, **parameters: Any) -> Any:
        seen.append(name)
        return run(self, name, **parameters)

    def hooked(self: Graph, work: Any) -> Any:
        seen.clear()
        result = transaction(self, work)
        if query in seen:
            reached()
        return result

    with mock.patch.object(Transaction, "run", noted), mock.patch.object(Graph, "transaction", hooked):
        yield


@contextmanager
def _torn(reached: Callable[..., None]) -> Iterator[None]:
    append = OutcomeStore.append

    def hooked(self: OutcomeStore, *batch: Any) -> None:
        before = self.path.stat().st_size
        append(self, *batch)
        # What the system had taken of it when the process died.
        taken = before + 2 * (self.path.stat().st_size - before) // 3
        reached(lambda: os.truncate(self.path, taken))

    with mock.patch.object(OutcomeStore, "append", hooked):
        yield


def kill_child(endpoint: Endpoint, home: Path, work: Callable[[Graph], None], moment: Moment) -> None:
    """Do a work in a process of its own that is killed at the moment; it fails if the moment never comes.

    Args:
        work: a function of a module.
        home: the child's ``KGPROBE_HOME``.
    """
    child = _children.Process(target=_work_until, args=(endpoint, home, work, moment))
    child.start()
    child.join(_CHILD_SECONDS)
    code = child.exitcode
    child.kill()
    assert code == -signal.SIGKILL, f"{moment}: the process ended with {code}"


def _work_until(endpoint: Endpoint, home: Path, work: Callable[[Graph], None], moment: Moment) -> None:
    os.environ["KGPROBE_HOME"] = str(home)
    with Graph(endpoint) as graph, ending_at(moment, lambda: os.kill(os.getpid(), signal.SIGKILL)):
        work(graph)


def kill_server(folder: Path) -> None:
    """Kill the server of a graph's folder."""
    (server,) = servers_on(folder)
    server.kill()
    server.wait(_CHILD_SECONDS)
