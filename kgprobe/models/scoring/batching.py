"""How much goes through a model at once: as much as keeps the processor busy, and never more than memory holds."""

import torch

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


class Budget:
    """How many tokens and logits are computed at once on a device.

    Attributes:
        tokens: padded tokens in a forward pass.
        logits: held at once in the vocabulary projection.
    """

    def __init__(self, device: torch.device) -> None:
        """A guess."""
        self._device = device
        self.tokens = _of(_TOKENS, device)
        self.logits = _of(_LOGITS, device)
        self._most = _of(_MOST_TOKENS, device)
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
        if self._device.type == "cuda":
            torch.cuda.empty_cache()


def is_short_memory(error: RuntimeError) -> bool:
    """Whether this error says that there is not enough memory."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in _SHORT)


def _of(amounts: dict[str, int], device: torch.device) -> int:
    return amounts.get(device.type, amounts["cpu"])
