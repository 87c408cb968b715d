"""How much goes through a model at once: as much as keeps the processor busy, and never more than memory holds."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

# Enough for a processor at full speed, and no more memory than that takes; a GPU grows from its guess to what fits.
_TOKENS = {"cpu": 1024, "cuda": 8192}
_MOST_TOKENS = {"cpu": 1024, "cuda": 131_072}
# About what stays in a processor's cache, or keeps a GPU busy.
_LOGITS = {"cpu": 1 << 17, "cuda": 1 << 25}
# So few take next to nothing.
_FEWEST_LOGITS = 1 << 16
# What is free is never free in one piece.
_SPARE = 1.25
# How the CPU's allocator, other devices and libraries say that memory is short.
_SHORT = ("can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")


class BatchLimits:
    """How many tokens and logits are computed at once on a device.

    Attributes:
        tokens: padded tokens in a forward pass.
        logits: held at once in the vocabulary projection.
    """

    def __init__(self, device: torch.device, most: int | None = None) -> None:
        """A guess.

        Args:
            most: tokens that a user allows; None leaves it to the device.
        """
        self._device = device
        self._most = _of(_MOST_TOKENS, device) if most is None else most
        self.tokens = min(_of(_TOKENS, device), self._most)
        self.logits = _of(_LOGITS, device)
        self._before = 0

    def begin(self) -> None:
        """A batch is about to be computed."""
        if self._device.type == "cuda" and self.tokens < self._most:
            torch.cuda.reset_peak_memory_stats(self._device)
            self._before = torch.cuda.memory_allocated(self._device)

    def went_well(self, tokens: int) -> None:
        """A batch of so many padded tokens fitted in; where there is room for twice as many, the next may have them."""
        if self._device.type != "cuda" or 2 * self.tokens > self._most or 2 * tokens <= self.tokens:
            return
        taken = torch.cuda.max_memory_allocated(self._device) - self._before
        # What the allocator holds and does not use is free for the next batch.
        held = torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)
        free, _ = torch.cuda.mem_get_info(self._device)
        if _SPARE * taken * 2 * self.tokens / tokens < free + held:
            self.tokens *= 2

    @property
    def exhausted(self) -> bool:
        """Whether fewer logits at once would not help any more."""
        return self.logits <= _FEWEST_LOGITS

    def back_off(self, tokens: int) -> None:
        """A batch of so many padded tokens did not fit in: half of them, at most, from now on."""
        self.tokens = self._most = max(min(self.tokens, tokens) // 2, 1)
        self.logits = max(self.logits // 2, 1)


def compute_if_it_fits(compute: Callable[[], Result], device: torch.device) -> Result | None:
    """What a computation gives; None where memory was short, and then all that it held is free again.

    Args:
        compute: never gives None.
        device: where it computes.
    """
    try:
        return compute()
    except RuntimeError as error:
        if not _is_short_memory(error):
            raise
    # Only here, where the error and with it what it holds in memory is gone.
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return None


def compute_in_batches(
    items: Sequence[Item],
    at_once: Callable[[Sequence[Item]], int],
    compute: Callable[[Sequence[Item]], Result],
    device: torch.device,
) -> Iterator[tuple[Sequence[Item], Result | None]]:
    """Items in batches, in their order; in smaller ones from where memory was short.

    Args:
        items: those that take most memory first, so that what does not fit shows at once.
        at_once: how many of the items that are left a batch may have.
        compute: what is to be done with a batch; never gives None.
        device: where that is computed.

    Yields:
        each batch and what came of it; None for an item that does not fit into memory alone.
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


def _is_short_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in _SHORT)


def _of(amounts: dict[str, int], device: torch.device) -> int:
    return amounts.get(device.type, amounts["cpu"])
