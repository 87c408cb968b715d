"""Workers of a Ray cluster that compute tasks with models; a task of a dead worker goes to another one.

A task is a picklable function of a loaded model. Its result is used once, although a dead worker may have computed a
part of it before. Each worker loads a model when its first task for it comes. The cluster is at
``RAY_ADDRESS``, or on this machine for as long as it is needed.
"""

import importlib.util
import logging
import os
import re
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from kgprobe.base.errors import ArgumentError, KgprobeError, first_line, how_to_install
from kgprobe.base.progress import print_message
from kgprobe.base.version import __version__
from kgprobe.models.generating.generator import Generator
from kgprobe.models.scoring.contract import EdgeScorer, TextScorer

T = TypeVar("T")

# Deaths of workers during one task, or in succession before they are ready, after which something else is wrong.
_MOST_DEATHS = 3
# Seconds for a cluster to answer.
_PATIENCE = 10.0
# Seconds without any worker after which the missing resources are printed.
_START_SECONDS = 30.0


def check_ray() -> None:
    """Raise if Ray or a needed part is not installed, or no cluster answers at the host and port of ``RAY_ADDRESS``."""
    if importlib.util.find_spec("ray") is None:
        raise KgprobeError(f"Ray is not installed: {how_to_install('ray')}.")
    address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    # Ray itself would try for more than three minutes.
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError, ValueError) as error:
        raise KgprobeError(
            f"No Ray cluster answers at RAY_ADDRESS={address}: {error}. Start it, or unset RAY_ADDRESS."
        ) from error
    if address.startswith("ray://") and importlib.util.find_spec("grpc") is None:
        raise KgprobeError(
            f"RAY_ADDRESS={address} needs Ray's client, which is not installed: run `python -m pip install"
            ' "ray[client]"`, on the head node, too. Or run the command on a machine of the cluster, with'
            " RAY_ADDRESS=HOST:6379."
        )


@contextmanager
def ray_cluster(workers: int) -> Iterator[Any]:
    """Yield ``ray``, connected to a cluster; one on this machine has CPUs for the workers, and ends after it."""
    # Hide Ray's message about restarted actors, which are intended.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # Hide its messages about dead workers and machines, which it would print on stdout: other workers take over.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    # Send no usage statistics.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    mine = not ray.is_initialized()
    if mine:
        # An existing cluster has its own CPUs.
        address = os.environ.get("RAY_ADDRESS")
        here = not address
        try:
            ray.init(
                num_cpus=workers + 1 if here else None,
                include_dashboard=False if here else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        # Ray has no error class for a cluster that does not start or answer.
        except Exception as error:
            ray.shutdown()
            where, remedy = "on this machine", "Try again with fewer workers, or without Ray."
            if not here:
                where = f"with RAY_ADDRESS={address}"
                remedy = "Correct RAY_ADDRESS, or unset it. The head's port is usually 6379, and of ray:// 10001."
            fault = f"{type(error).__name__}: {_reason(error).rstrip('.')}"
            raise KgprobeError(f"Ray does not start {where}: {fault}. {remedy}") from error
    try:
        yield ray
    finally:
        if mine:
            ray.shutdown()


@contextmanager
def _connection() -> Iterator[None]:
    """Explain a lost connection to a cluster at a ``ray://`` address."""
    try:
        yield
    except Exception as error:
        # Ray's client lets errors of grpc through.
        if not isinstance(error, ConnectionError) and not type(error).__module__.startswith("grpc."):
            raise
        details = re.search(r'details = "(.+)"', str(error))
        raise KgprobeError(
            f"The Ray cluster at RAY_ADDRESS={os.environ.get('RAY_ADDRESS')} ended the connection:"
            f" {(details[1] if details else first_line(error)).rstrip('.')}. Complete batches are kept. Check the head"
            " node, which also needs kgprobe in the same version, or run the command on a machine of the cluster, with"
            " RAY_ADDRESS=HOST:6379."
        ) from error


def _needs(ray: Any) -> dict[str, int]:
    """Return the resources of a worker: one CPU, and one GPU if the cluster has any."""
    return {"CPU": 1, "GPU": 1} if ray.cluster_resources().get("GPU", 0) > 0 else {"CPU": 1}


def _original_error(error: BaseException) -> BaseException:
    """Return the original error of a worker, without Ray's wrappers."""
    while (inner := getattr(error, "cause", None) or error.__cause__) is not None and inner is not error:
        if isinstance(inner, KgprobeError):
            return inner
        error = inner
    return error


def _reason(error: BaseException) -> str:
    """Return the last line of a traceback in the original error's message, or else its first line."""
    error = _original_error(error)
    lines = [line for line in str(error).splitlines() if re.match(r"(?:[\w.]+Error|ERROR): ", line)]
    return lines[-1] if lines else first_line(error)


def _machine(error: BaseException) -> str:
    """Return the address of a worker's machine in an error of Ray, for a message; empty for this machine's cluster."""
    address = re.search(r"\bip=([^,)\s]+)", str(error))
    return f"{address[1]} of the Ray cluster" if address and os.environ.get("RAY_ADDRESS") else ""


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """A model that workers load.

    Attributes:
        options: keyword arguments of :func:`~kgprobe.models.spec.load_scoring_model`, as sorted pairs.
        described: the model's description without versions; a worker with another one has other files. None before
            the first worker has loaded it.
    """

    spec: str
    options: tuple[tuple[str, Any], ...]
    described: Mapping[str, Any] | None = field(default=None, compare=False)


class WorkerModel:
    """A model in a worker; both functions return the same object each time, and the first call loads the model."""

    def __init__(self, scorer: Callable[[], TextScorer], generator: Callable[[], Generator]) -> None:
        """Use a model that is not loaded yet; see the attributes."""
        self.scorer = scorer
        self.generator = generator
        self._search = ""
        self._growing: EdgeScorer | None = None

    def described(self) -> dict[str, Any]:
        """Return the description of the scorer without versions, which may differ between machines."""
        return {name: value for name, value in self.scorer().describe().items() if name != "versions"}

    def growing(self, search: str) -> EdgeScorer:
        """Return the scorer of the trees of a search, the same until another search begins."""
        if self._growing is None or search != self._search:
            self._search, self._growing = search, self.scorer().growing()
        return self._growing


# Opens the argument of all tasks of a plan, such as a :class:`WorkerModel`, by spec and options.
OpenModel = Callable[[str, Mapping[str, Any]], Any]


class ModelWorker:
    """The actor: a process with its own copies of the models."""

    def __init__(self, threads: int, open_model: OpenModel, version: str) -> None:
        """Limit the threads of torch; raise if this machine has another version of kgprobe."""
        import torch

        if version != __version__:
            raise KgprobeError(f"{socket.gethostname()} has kgprobe {__version__}, this command's process {version}.")
        torch.set_num_threads(threads)
        self._open_model = open_model
        self._models: dict[ModelPlan, Any] = {}

    def get_ready(self) -> None:
        """Return when the worker is ready."""

    def run(self, plan: ModelPlan, task: Callable[[Any], T]) -> T:
        """Return the result of a task; load the model before its first one."""
        if plan not in self._models:
            self._models[plan] = self._load(plan)
        return task(self._models[plan])

    def _load(self, plan: ModelPlan) -> Any:
        loaded = self._open_model(plan.spec, dict(plan.options))
        if plan.described is not None:
            own = loaded.described()
            odd = [name for name, value in plan.described.items() if own.get(name) != value]
            if odd:
                name = odd[0]
                raise KgprobeError(
                    f"{plan.spec} differs between the machines of the Ray cluster: on {socket.gethostname()}, {name} is"
                    f" {own.get(name)!r}, elsewhere {plan.described[name]!r}. Copy the same files to all machines."
                )
        return loaded


@dataclass(eq=False, slots=True)
class _Worker:
    """A worker as the driver sees it."""

    number: int
    actor: Any


class Workers:
    """Workers for models, started at the first task."""

    def __init__(self, count: int, open_model: OpenModel) -> None:
        """Check that Ray is there; the picklable ``open_model`` opens a model in a worker, by spec and options."""
        check_ray()
        self.count = count
        self._open_model = open_model
        self._cluster = ExitStack()
        self._ray: Any = None
        self._make: Callable[[], Any] | None = None
        self._starting: dict[Any, _Worker] = {}
        self._idle: list[_Worker] = []
        self._failed_starts = 0

    def run(self, plan: ModelPlan, task: Callable[[Any], T]) -> T:
        """Return the result of one task."""
        ((_, result),) = self.run_all(plan, [task])
        return result

    def run_all(self, plan: ModelPlan, tasks: Sequence[Callable[[Any], T]]) -> Iterator[tuple[int, T]]:
        """Yield the number and the result of each task once, as workers finish them.

        Task n goes to worker n modulo ``count``, if that is idle; so a worker gets related tasks of later calls.

        Raises:
            ArgumentError: this machine has fewer GPUs than workers.
            KgprobeError: the cluster does not start; the model cannot be loaded there, or raises an error; or workers
                die repeatedly.
        """
        with _connection():
            yield from self._run_started(plan, tasks)

    def _run_started(self, plan: ModelPlan, tasks: Sequence[Callable[[Any], T]]) -> Iterator[tuple[int, T]]:
        self._start()
        ray = self._ray
        waiting = deque(range(len(tasks)))
        running: dict[Any, tuple[_Worker, int]] = {}
        deaths: Counter[int] = Counter()
        try:
            while waiting or running:
                while waiting and self._idle:
                    worker = self._idle.pop()
                    # The first waiting task that belongs to the worker, or else the first of all.
                    number = next((task for task in waiting if task % self.count == worker.number), waiting[0])
                    waiting.remove(number)
                    running[worker.actor.run.remote(plan, tasks[number])] = (worker, number)
                done = self._next([*running, *self._starting], None if running else _START_SECONDS)
                if done in self._starting:
                    self._welcome(done)
                    continue
                worker, number = running[done]
                try:
                    result = ray.get(done)
                except _deaths(ray) as error:
                    del running[done]
                    self._replace(worker)
                    deaths[number] += 1
                    if deaths[number] == _MOST_DEATHS:
                        raise KgprobeError(
                            f"{deaths[number]} Ray workers in succession died of the same task, probably because memory"
                            f" was short: {first_line(error)} Use fewer workers, or a smaller `batch_tokens`."
                        ) from error
                    waiting.appendleft(number)
                except ray.exceptions.RayError as error:
                    raise _explained(error) from error
                else:
                    del running[done]
                    self._idle.append(worker)
                    yield number, result
        finally:
            # A call that fails or is interrupted leaves busy workers; their next task waits for this one.
            self._idle += [worker for worker, _ in running.values()]

    def close(self) -> None:
        """End the workers, and a cluster that was started for them."""
        if self._ray is not None:
            # Actors end with a connection that is lost.
            with suppress(KgprobeError), _connection():
                for worker in (*self._idle, *self._starting.values()):
                    self._ray.kill(worker.actor)
        self._ray = None
        self._idle, self._starting = [], {}
        self._cluster.close()

    def _start(self) -> None:
        if self._ray is not None:
            return
        ray = self._cluster.enter_context(ray_cluster(self.count))
        gpus = int(ray.cluster_resources().get("GPU", 0))
        if 0 < gpus < self.count and not os.environ.get("RAY_ADDRESS"):
            self._cluster.close()
            raise ArgumentError("ray", f"is {self.count}; each worker needs a GPU, and this machine has {gpus}.")
        # A cluster on this machine has one CPU for each worker and one for this process, whatever its cores.
        cores = int(ray.cluster_resources().get("CPU", 1)) if os.environ.get("RAY_ADDRESS") else os.cpu_count() or 1
        needs = _needs(ray)
        actor = ray.remote(num_cpus=needs["CPU"], num_gpus=needs.get("GPU", 0))(ModelWorker)
        self._make = partial(actor.remote, max(cores // self.count, 1), self._open_model, __version__)
        self._ray = ray
        if os.environ.get("RAY_ADDRESS") and (most := _startable(ray)) < self.count:
            self._print_missing(f"{most} of {self.count} Ray workers can start now")
        for number in range(self.count):
            self._add(number)

    def _next(self, waited: list[Any], seconds: float | None) -> Any:
        """Return the first that is done of some tasks and starts of workers; print what is missing after some time."""
        done, _ = self._ray.wait(waited, num_returns=1, timeout=seconds)
        if not done:
            self._print_missing(f"No Ray worker has started for {seconds:.0f} seconds")
            done, _ = self._ray.wait(waited, num_returns=1)
        return done[0]

    def _print_missing(self, fault: str) -> None:
        """Print the resources that workers wait for."""
        every, free = self._ray.cluster_resources(), self._ray.available_resources()
        needs = _needs(self._ray)
        parts = [f"{free.get(name, 0):.0f} of {every.get(name, 0):.0f} {name}s" for name in needs]
        print_message(
            f"{fault}: each needs a {' and a '.join(needs)}, and the cluster has {' and '.join(parts)} free."
            " Others wait for more; or press Ctrl-C, and ask for fewer workers."
        )

    def _add(self, number: int) -> None:
        if self._make is None:
            raise RuntimeError("The workers are not started.")
        worker = _Worker(number, self._make())
        self._starting[worker.actor.get_ready.remote()] = worker

    def _welcome(self, ready: Any) -> None:
        """Make a worker available that has started; replace it if it has not."""
        worker = self._starting.pop(ready)
        try:
            self._ray.get(ready)
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            self._replace(worker)
            if self._failed_starts % _MOST_DEATHS == 0:
                raise KgprobeError(
                    f"{_MOST_DEATHS} Ray workers in succession did not start"
                    f"{f', the last on {place}' if (place := _machine(error)) else ''}: {_reason(error).rstrip('.')}."
                    " kgprobe must be installed on every machine of the cluster, in the same version."
                ) from error
        else:
            self._failed_starts = 0
            self._idle.append(worker)

    def _replace(self, worker: _Worker) -> None:
        """Start another worker in place of one that died, or whose machine does not answer."""
        self._ray.kill(worker.actor)
        self._add(worker.number)


def _deaths(ray: Any) -> tuple[type[Exception], ...]:
    """Return Ray's errors for a worker, or a result of it, that is lost."""
    errors = ray.exceptions
    return (errors.RayActorError, errors.OutOfMemoryError, errors.NodeDiedError, errors.ObjectLostError)


def _startable(ray: Any) -> int:
    """Return the number of workers for which the cluster has free resources now."""
    free = ray.available_resources()
    return min(int(free.get(name, 0)) // amount for name, amount in _needs(ray).items())


def _explained(error: Exception) -> KgprobeError:
    inner, place = _original_error(error), _machine(error)
    if isinstance(inner, ArgumentError) or (isinstance(inner, KgprobeError) and not place):
        return inner
    if isinstance(inner, KgprobeError):
        return KgprobeError(f"On {place}, all machines of which need the same files: {inner}")
    return KgprobeError(f"A Ray worker{place and f' on {place}'} failed: {first_line(inner)}")
