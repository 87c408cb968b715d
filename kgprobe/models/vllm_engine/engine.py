"""vLLM's offline engine: prompts of token ids, with the log-probabilities of chosen next tokens or generated tokens.

Documented interface: ``vllm.LLM`` and ``vllm.SamplingParams`` (``logprob_token_ids``, from version 0.22). The weights
are read from safetensors only, code that comes with a model is not run, and generation settings in its files are
ignored. vLLM gets token ids and returns token ids, so its own tokenizer is not loaded.
"""

import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from kgprobe.base.errors import KgprobeError, first_line, how_to_install
from kgprobe.models.computing import computing, in_turn
from kgprobe.models.model_files import remedy_of_files
from kgprobe.models.vllm_engine.options import EngineOptions

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

# vLLM refuses a request for the log-probabilities of more tokens.
MAX_TARGETS = 128
OLDEST_VERSION = "0.22"
_VARIABLE = "CUDA_VISIBLE_DEVICES"
# Seconds until a process that does not end by itself is ended.
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class VllmRequest:
    """A request to the engine.

    Attributes:
        tokens: ids of the prompt's tokens, at least one.
        targets: ids of at most ``MAX_TARGETS`` tokens whose log-probabilities after the prompt are requested.
        seed: seed of sampling; None for the engine's own.
    """

    tokens: tuple[int, ...]
    targets: tuple[int, ...] = ()
    max_tokens: int = 1
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop_tokens: tuple[int, ...] = ()
    bias: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """The engine's answer to a prompt.

    Attributes:
        tokens: ids of the generated tokens, with the one that ended the generation.
        values: natural log-probability of each target and of the first generated token, by token id.
    """

    tokens: tuple[int, ...]
    values: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Properties of a loaded engine.

    Attributes:
        max_model_len: maximum tokens of a prompt and its answer.
        dtype: precision of the computation: ``float32``, ``bfloat16``, ``float16``.
    """

    max_model_len: int
    vocabulary: int
    dtype: str
    architecture: str
    version: str


class VllmEngine(Protocol):
    """One or several engines with the same weights."""

    facts: EngineFacts

    def run(self, prompts: Sequence[VllmRequest]) -> list[Output]:
        """Return the answer to each prompt; thousands are computed together."""

    def forget_prefixes(self) -> None:
        """Empty the cache of prefixes."""

    def close(self) -> None:
        """End the processes of the engine."""


@dataclass(frozen=True, slots=True)
class EngineSource:
    """All that is needed to load an engine, in any process.

    Attributes:
        revision: commit of the repository; None for a folder.
        dtype: precision of the weights; None for that of the files.
    """

    name: str
    place: str
    revision: str | None
    dtype: str | None
    options: EngineOptions


class SingleEngine:
    """A ``vllm.LLM``, on one GPU or on several that share the weights."""

    def __init__(self, source: EngineSource) -> None:
        """Load the model."""
        vllm = import_vllm(source.name)
        self._sampling = vllm.SamplingParams
        with _loading(source.name):
            self._llm: Any = vllm.LLM(
                model=source.place,
                revision=source.revision,
                dtype=source.dtype or "auto",
                load_format="safetensors",
                trust_remote_code=False,
                skip_tokenizer_init=True,
                generation_config="vllm",
                logprobs_mode="raw_logprobs",
                max_logprobs=MAX_TARGETS,
                seed=0,
                **source.options.engine_arguments(),
            )
        config = self._llm.model_config
        self.facts = EngineFacts(
            max_model_len=int(config.max_model_len),
            vocabulary=int(config.get_vocab_size()),
            dtype=str(config.dtype).removeprefix("torch."),
            architecture=str(config.architecture),
            version=str(vllm.__version__),
        )

    @in_turn
    @computing()
    def run(self, prompts: Sequence[VllmRequest]) -> list[Output]:
        """Return the answer to each prompt, in their order."""
        if not prompts:
            return []
        try:
            outputs = self._llm.generate(
                [{"prompt_token_ids": list(prompt.tokens)} for prompt in prompts],
                list(map(self._parameters, prompts)),
                use_tqdm=False,
            )
        # vLLM raises many kinds of errors, also of its other processes.
        except Exception as error:
            raise KgprobeError(f"vLLM stopped: {first_line(error)}") from error
        return list(map(_read, outputs))

    def forget_prefixes(self) -> None:
        """Empty the cache of prefixes; raise a KgprobeError if vLLM cannot."""
        if not self._llm.reset_prefix_cache():
            raise KgprobeError("vLLM cannot empty its cache of prefixes.")

    def close(self) -> None:
        """End the processes of the engine."""
        del self._llm

    def _parameters(self, prompt: VllmRequest) -> Any:
        return self._sampling(
            max_tokens=prompt.max_tokens,
            temperature=prompt.temperature,
            top_p=prompt.top_p,
            seed=prompt.seed,
            stop_token_ids=list(prompt.stop_tokens) or None,
            ignore_eos=True,
            detokenize=False,
            logprob_token_ids=list(prompt.targets) or None,
            logit_bias=dict(prompt.bias) or None,
        )


def import_vllm(name: str) -> Any:
    """Return the module ``vllm``; raise a KgprobeError if it is missing or has no ``logprob_token_ids``."""
    # Data go to stdout, and vLLM's log would, too.
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    try:
        import vllm
    except ImportError as error:
        raise KgprobeError(f"{name} needs vLLM ({error}): {how_to_install('vllm')}.") from error
    try:
        vllm.SamplingParams(logprob_token_ids=[0])
    except TypeError as error:
        raise KgprobeError(
            f"{name} needs vLLM {OLDEST_VERSION} or later, whose requests have `logprob_token_ids`; version"
            f" {vllm.__version__} is installed. Run `python -m pip install -U vllm`."
        ) from error
    return vllm


def _read(output: Any) -> Output:
    (completion,) = output.outputs
    first = completion.logprobs[0] if completion.logprobs else {}
    return Output(tuple(completion.token_ids), {token: float(value.logprob) for token, value in first.items()})


@contextmanager
def _loading(name: str) -> Iterator[None]:
    """Explain errors, and send what the engine's processes print to stderr: data go to stdout."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    # Broken files and full devices raise many kinds of errors.
    except Exception as error:
        raise KgprobeError(f"{name} could not be loaded by vLLM: {first_line(error)}{_remedy(error)}") from error
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _remedy(error: Exception) -> str:
    remedy = remedy_of_files(error)
    if not remedy and "memory" in str(error):
        return " Try tensor_parallel_size=…, a smaller max_model_len=…, or another gpu_memory_utilization=…."
    return remedy


class ReplicatedEngine:
    """Engines with the same weights, each in a process with GPUs of its own; all are ended with this process.

    ``vllm.LLM`` itself refuses ``data_parallel_size`` in one process. Engines do not communicate: each gets a part of
    the prompts of a call, neighbours together, because they share their beginnings.
    """

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

    @in_turn
    @computing()
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
