"""Batch sizes that keep the processor busy and fit into memory.

Cache of scored continuations: strategies share distractors, and rounds ask a fact again.

Cache of prompt prefixes: keys and values of a shared prefix are kept from one call to the next. For example, fifty
examples precede every fact of a relation. Computed once, they cost little compared with the facts.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

import numpy as np
import psutil
import torch

from kgprobe.models.computing import computing, in_turn
from kgprobe.models.scoring.contract import Floats
from kgprobe.models.scoring.forward import AnyPrefix, size_of
from kgprobe.models.scoring.tokens import Ids, TokenizedPrompt
from kgprobe.models.scoring.trie import Integers

# Share of the device's memory for a cache; the least recently used prefix makes room.
_SHARE = 1 / 8

Item = TypeVar("Item")
Result = TypeVar("Result")

# Keeps a processor at full speed with the least memory. A GPU grows from its guess to the memory's limit.
_TOKENS = {"cpu": 1024, "cuda": 8192}
_MOST_TOKENS = {"cpu": 1024, "cuda": 131_072}
# About the size of a processor's cache, or enough to keep a GPU busy.
_LOGITS = {"cpu": 1 << 17, "cuda": 1 << 25}
# Fewer logits than this take hardly any memory.
_FEWEST_LOGITS = 1 << 16
# Free memory is never in one piece.
_SPARE = 1.25
# Error texts of the CPU's allocator, other devices and libraries when memory is short.
_SHORT = ("can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")


class BatchLimits:
    """Maximum padded tokens in a forward pass on a device, and logits held at once in the vocabulary projection."""

    def __init__(self, device: torch.device, most: int | None = None, *, others: Sequence[torch.device] = ()) -> None:
        """Start with a guess for the device.

        Args:
            most: the user's maximum of tokens; None for the device's.
            others: all devices of a spread model; a batch has to fit into the memory of each.
        """
        self._gpus = [gpu for gpu in dict.fromkeys((device, *others)) if gpu.type == "cuda"]
        self._most = amount_for(_MOST_TOKENS, device) if most is None else most
        self.tokens = min(amount_for(_TOKENS, device), self._most)
        self.logits = amount_for(_LOGITS, device)
        self._before: list[int] = []

    def begin(self) -> None:
        """Note the memory in use before a batch is computed."""
        if self.tokens < self._most:
            for gpu in self._gpus:
                torch.cuda.reset_peak_memory_stats(gpu)
            self._before = list(map(torch.cuda.memory_allocated, self._gpus))

    def went_well(self, tokens: int) -> None:
        """Allow twice as many tokens next time if the memory suffices, after a batch of so many padded tokens."""
        if not self._gpus or 2 * self.tokens > self._most or 2 * tokens <= self.tokens:
            return
        for gpu, before in zip(self._gpus, self._before, strict=True):
            used = torch.cuda.max_memory_allocated(gpu) - before
            # Memory that the allocator reserves and does not use is free for the next batch.
            held = torch.cuda.memory_reserved(gpu) - torch.cuda.memory_allocated(gpu)
            free, _ = torch.cuda.mem_get_info(gpu)
            if _SPARE * used * 2 * self.tokens / tokens >= free + held:
                return
        self.tokens *= 2

    @property
    def exhausted(self) -> bool:
        """True if fewer logits at once would not help any more."""
        return self.logits <= _FEWEST_LOGITS

    def back_off(self, tokens: int) -> None:
        """Halve the limits after a batch of so many padded tokens did not fit into memory."""
        self.tokens = self._most = max(min(self.tokens, tokens) // 2, 1)
        self.logits = max(self.logits // 2, 1)


def compute_if_it_fits(compute: Callable[[], Result], device: torch.device) -> Result | None:
    """Return a computation's result, never None; None if memory was short, after all that it held is freed."""
    try:
        return _compute(compute, inference=torch.is_inference_mode_enabled())
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    # Only here are the error and the memory that it references gone.
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return None


@in_turn
def _compute(compute: Callable[[], Result], *, inference: bool) -> Result:
    """Compute in inference mode if the calling thread is in it."""
    with torch.inference_mode() if inference else nullcontext(), computing():
        return compute()


def is_out_of_memory(error: Exception) -> bool:
    """Return True for the error of an allocation that failed."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _SHORT)
    )


def compute_in_batches(
    items: Sequence[Item],
    at_once: Callable[[Sequence[Item]], int],
    compute: Callable[[Sequence[Item]], Result],
    device: torch.device,
) -> Iterator[tuple[Sequence[Item], Result | None]]:
    """Yield items in batches, in their order; in smaller ones once memory was short.

    Args:
        items: items, those that take most memory first, so that a lack of memory shows at once.
        compute: computes a batch; never returns None.

    Yields:
        each batch and its result; None for an item that does not fit into memory alone.
    """
    most = len(items)
    while items:
        batch = items[: max(1, min(most, at_once(items)))]
        result = compute_if_it_fits(partial(compute, batch), device)
        if result is None and len(batch) > 1:
            most = len(batch) // 2
            continue
        yield batch, result
        items = items[len(batch) :]


def amount_for(amounts: dict[str, int], device: torch.device) -> int:
    """Return the amount for a kind of device; unknown kinds are like a CPU."""
    return amounts.get(device.type, amounts["cpu"])


class Memory:
    """The log-probabilities of the latest continuations, some 250 bytes each."""

    def __init__(self, size: int) -> None:
        """Start with an empty cache of at most this many continuations; those of the oldest contexts are forgotten."""
        self._size = size
        self._count = 0
        # By a digest of the tokens before a continuation, then by the continuation.
        self._values: dict[bytes, dict[Ids, float]] = {}

    def recall(self, prompt: TokenizedPrompt) -> Floats:
        """Return the cached value of each continuation of a prompt, NaN if unknown; shape (continuations,)."""
        kept = {start: self._values.get(_digest(prompt, start), {}) for start in set(prompt.starts)}
        if not any(kept.values()):
            return np.full(len(prompt.tails), np.nan)
        values = [kept[start].get(tail, np.nan) for start, tail in zip(prompt.starts, prompt.tails, strict=True)]
        return np.array(values, dtype=np.float64)

    def keep(self, prompt: TokenizedPrompt, values: Floats) -> None:
        """Store the log-probabilities of a prompt's continuations, shape (continuations,)."""
        if not self._size:
            return
        kept: dict[int, dict[Ids, float]] = {}
        for start in set(prompt.starts):
            digest = _digest(prompt, start)
            kept[start] = self._values[digest] = self._values.pop(digest, {})
        before = sum(map(len, kept.values()))
        for start, tail, value in zip(prompt.starts, prompt.tails, values.tolist(), strict=True):
            kept[start][tail] = value
        self._count += sum(map(len, kept.values())) - before
        while self._count > self._size:
            digest = next(iter(self._values))
            oldest = self._values[digest]
            for tail in list(islice(oldest, self._count - self._size)):
                del oldest[tail]
                self._count -= 1
            if not oldest:
                del self._values[digest]


def _digest(prompt: TokenizedPrompt, start: int) -> bytes:
    """Return a digest of a prompt's first tokens."""
    return blake2b(array("q", [start, *prompt.context[:start]]), digest_size=16).digest()


class Prefixes:
    """The most recently used prefixes, and the bytes of their keys, values and states."""

    def __init__(self, device: torch.device, most: int | None = None) -> None:
        """Start with an empty cache of at most this many bytes; None for a share of the device's memory."""
        self._most = share_of(device) if most is None else most
        self.taken = 0
        self._kept: dict[bytes, tuple[AnyPrefix, int]] = {}

    def get(self, tokens: Integers, compute: Callable[[], AnyPrefix]) -> AnyPrefix:
        """Return the prefix of these token ids, computed if it is not cached."""
        key = tokens.tobytes()
        entry = self._kept.pop(key, None)
        if entry is None:
            prefix = compute()
            entry = (prefix, size_of(prefix))
            self.taken += entry[1]
        self._kept[key] = entry
        while self.taken > self._most:
            oldest = next(iter(self._kept))
            self.taken -= self._kept.pop(oldest)[1]
        return entry[0]

    def forget(self) -> bool:
        """Empty the cache; return True if it contained anything."""
        had = bool(self._kept)
        self._kept.clear()
        self.taken = 0
        return had


def share_of(device: torch.device) -> int:
    """Return the bytes of a device's memory that a cache may take."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory * _SHARE)
    return int(psutil.virtual_memory().total * _SHARE)
