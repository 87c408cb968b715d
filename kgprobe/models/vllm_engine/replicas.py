"""Several engines with the same weights, each in a process with GPUs of its own: data parallelism.

``vllm.LLM`` itself refuses ``data_parallel_size`` in one process. Engines do not communicate: each gets a part of the
prompts of a call, neighbours together, because they share their beginnings.
"""

import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kgprobe.base.errors import KgprobeError
from kgprobe.models.vllm_engine.engine import EngineSource, Output, SingleEngine, VllmRequest

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_VARIABLE = "CUDA_VISIBLE_DEVICES"
# Seconds until a process that does not end by itself is ended.
_PATIENCE = 30.0


class ReplicatedEngine:
    """Engines in processes, see :class:`.engine.VllmEngine`; all are ended with this process."""

    def __init__(self, source: EngineSource) -> None:
        """Load the model into each engine, all at the same time."""
        self._name = source.name
        # Children of a process with CUDA must not be forked.
        context = multiprocessing.get_context("spawn")
        self._processes: list[BaseProcess] = []
        self._connections: list[Connection] = []
        for devices in device_sets(source):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(source, devices, theirs), daemon=False)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._connections.append(ours)
        try:
            self.facts, *_ = [self._receive(number) for number in range(len(self._processes))]
        except BaseException:
            self.close()
            raise

    def run(self, prompts: Sequence[VllmRequest]) -> list[Output]:
        """Return the answer to each prompt, in their order; end all engines when one fails."""
        count = len(self._connections)
        bounds = [len(prompts) * number // count for number in range(count + 1)] if count else []
        parts = [list(prompts[first:end]) for first, end in pairwise(bounds)]
        outputs: list[Output] = []
        for part in self._call([("run", part) for part in parts]):
            outputs += part
        return outputs

    def forget_prefixes(self) -> None:
        """Empty the caches of prefixes; errors as of :meth:`run`."""
        self._call([("forget_prefixes",)] * len(self._connections))

    def close(self) -> None:
        """End the processes."""
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()
        for process in self._processes:
            process.join(_PATIENCE)
            if process.is_alive():
                process.terminate()
                process.join()

    def _call(self, messages: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Send a message to each engine and return their results.

        After a failure, results of other engines may still come, which would be read as those of the next call.
        Therefore it ends the engines.
        """
        if not self._connections:
            raise KgprobeError(
                f"{self._name}: its engines were ended, because a call failed or was interrupted, or by close(). Load"
                " the model again."
            )
        try:
            for connection, message in zip(self._connections, messages, strict=True):
                self._send(connection, message)
            return [self._receive(number) for number in range(len(messages))]
        except BaseException:
            self.close()
            raise

    def _send(self, connection: "Connection", message: tuple[Any, ...]) -> None:
        try:
            connection.send(message)
        except OSError as error:
            raise self._ended() from error

    def _receive(self, number: int) -> Any:
        try:
            result = self._connections[number].recv()
        except (EOFError, OSError) as error:
            raise self._ended() from error
        if isinstance(result, str):
            raise KgprobeError(result)
        return result

    def _ended(self) -> KgprobeError:
        return KgprobeError(f"{self._name}: a process of vLLM has ended; its messages are above. Repeat the command.")


def _serve(source: EngineSource, devices: str | None, connection: "Connection") -> None:
    """Load an engine and answer messages until the connection ends: results, or errors as texts."""
    if devices is not None:
        os.environ[_VARIABLE] = devices
    try:
        engine = SingleEngine(replace(source, options=replace(source.options, data_parallel_size=1)))
    except KgprobeError as error:
        connection.send(str(error))
        return
    connection.send(engine.facts)
    while True:
        try:
            method, *arguments = connection.recv()
        except (EOFError, OSError):
            break
        try:
            result = getattr(engine, method)(*arguments)
        except KgprobeError as error:
            result = str(error)
        try:
            connection.send(result)
        # The call was given up.
        except OSError:
            break
    engine.close()


def device_sets(source: EngineSource) -> list[str | None]:
    """Return the GPUs of each engine, as a value of CUDA_VISIBLE_DEVICES; None for each on a machine without GPUs."""
    import torch

    options = source.options
    each = options.tensor_parallel_size * options.pipeline_parallel_size
    visible = os.environ.get(_VARIABLE)
    # Counted without initializing CUDA here.
    count = torch.cuda.device_count()
    if count == 0:
        return [None] * options.data_parallel_size
    devices = visible.split(",") if visible else list(map(str, range(count)))
    needed = each * options.data_parallel_size
    if len(devices) < needed:
        raise KgprobeError(
            f"{source.name} needs {needed} GPUs ({options.data_parallel_size} engines with {each}); {len(devices)} are"
            " visible. Use a smaller data_parallel_size or tensor_parallel_size."
        )
    return [",".join(devices[first : first + each]) for first in range(0, needed, each)]
