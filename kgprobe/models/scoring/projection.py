"""Log-probabilities of a few tokens from hidden states, without holding the logits of a whole vocabulary.

The vocabulary is processed in chunks. Each chunk gives logits for all positions and adds to their running log-sum-exp
in fp32; only the logits of the requested tokens are kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from kgprobe.models.scoring.body import body_of
from kgprobe.models.scoring.trie import Integers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Minimum tokens per chunk of the vocabulary; on a CPU, products of this width are the fastest.
_NARROWEST = 1024
# exp() of less is denormal in fp32: negligible next to a sum of at least 1, and twenty times slower.
_LOWEST_EXPONENT = -87.0
# Vocabularies of at least this size have a likely part of 1/16 of the tokens, learned at 128 positions. It has about
# nine tenths of the probability of names and of other continuations of a sentence.
_SMALLEST_DIVIDED = 1 << 13
_PARTS = 16
_LEARNED_FROM = 128
# Minimum cost of the vocabulary relative to the rest of the model; below, next to nothing is saved.
_LEAST_SHARE = 0.25
# Other types are quantized.
_PRECISIONS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


@dataclass(frozen=True, slots=True)
class VocabularyProjection:
    """A model's vocabulary projection; its logits are ``limit(scale * (weight @ hidden + bias))``.

    Attributes:
        weight: shape (vocabulary, hidden size).
        bias: shape (vocabulary,), or None.
        scale: a factor on the logits.
        soft_cap: where given, ``limit(x) = soft_cap * tanh(x / soft_cap)``.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None
    scale: float
    soft_cap: float | None

    def logits(self, hidden: torch.Tensor, first: int, last: int) -> torch.Tensor:
        """Return the logits of the tokens ``first`` to ``last - 1``, in fp32, shape (positions, last - first).

        ``hidden`` has the shape (positions, hidden size).
        """
        bias = None if self.bias is None else self.bias[first:last]
        return self._from_products(torch.nn.functional.linear(hidden, self.weight[first:last], bias))

    def _from_products(self, products: torch.Tensor) -> torch.Tensor:
        logits = products.float()
        if self.scale != 1.0:
            logits *= self.scale
        if self.soft_cap is not None:
            # Not in place, because gradients need the result of tanh.
            logits = logits.div_(self.soft_cap).tanh_() * self.soft_cap
        return logits

    def log_probabilities(
        self, hidden: torch.Tensor, sources: Integers, targets: Integers, at_once: int
    ) -> torch.Tensor:
        """Return log-probabilities of each target token after its source position, and of the most probable one there.

        Args:
            hidden: the positions' last hidden states, shape (positions, hidden size).
            sources: rows of ``hidden``, shape (edges,).
            targets: token ids, shape (edges,).
            at_once: approximate number of logits in memory, at least a thousand for each position.

        Returns:
            fp32, shape (edges, 2), on the CPU; the two are equal, to the last bit, if the target is the most probable.
        """
        # The output layer of a spread model may be on another device.
        device = self.weight.device
        hidden = hidden.to(device)
        order = torch.argsort(torch.from_numpy(targets), stable=True)
        tokens = torch.from_numpy(targets)[order]
        rows = torch.from_numpy(sources)[order].to(device)
        requested = torch.empty(len(tokens), dtype=torch.float32, device=device)
        on_device = tokens.to(device)

        def take(first: int, logits: torch.Tensor) -> None:
            begin, end = torch.searchsorted(tokens, torch.tensor([first, first + logits.shape[1]])).tolist()
            requested[begin:end] = logits[rows[begin:end], on_device[begin:end] - first]

        normalizer, highest = self._normalizer(hidden, at_once, take)
        result = torch.empty((len(requested), 2), device=device)
        result[order.to(device)] = torch.stack([requested, highest[rows]], dim=1) - normalizer[rows, None]
        return result.cpu()

    def bounds(
        self, hidden: torch.Tensor, part: "VocabularyProjection", sources: Integers, targets: Integers, at_once: int
    ) -> torch.Tensor:
        """Return an upper bound of the log-probability of each target token, by a sum over a part of the vocabulary.

        Args:
            hidden, sources, targets, at_once: as in :meth:`log_probabilities`.
            part: result of :meth:`part`; the closer its probabilities add up to 1, the closer the bounds.

        Returns:
            fp32, shape (edges,), on the CPU, in (-inf, 0].
        """
        hidden = hidden.to(self.weight.device)
        normalizer, _ = part._normalizer(hidden, at_once, lambda first, logits: None)
        result = torch.empty(len(targets), device=hidden.device)
        size = max(1, at_once // self.weight.shape[1])
        rows, tokens = torch.from_numpy(sources).to(hidden.device), torch.from_numpy(targets).to(hidden.device)
        for own in torch.split(torch.arange(len(targets), device=hidden.device), size):
            picked = self.part(tokens[own])
            products = torch.linalg.vecdot(picked.weight, hidden[rows[own]])
            result[own] = self._from_products(products if picked.bias is None else products + picked.bias)
        return (result - normalizer[rows]).clamp_(max=0.0).cpu()

    def part(self, tokens: torch.Tensor) -> "VocabularyProjection":
        """Return the projection to these tokens alone."""
        return replace(self, weight=self.weight[tokens], bias=None if self.bias is None else self.bias[tokens])

    def mean_probabilities(self, hidden: torch.Tensor, at_once: int) -> torch.Tensor:
        """Return the probabilities of all tokens, averaged over positions; shape (vocabulary,)."""
        hidden = hidden.to(self.weight.device)
        normalizer, _ = self._normalizer(hidden, at_once, lambda first, logits: None)
        return torch.cat(
            [logits.sub_(normalizer[:, None]).exp_().mean(0) for _, logits in self._chunks(hidden, at_once)]
        )

    def _normalizer(
        self, hidden: torch.Tensor, at_once: int, take: Callable[[int, torch.Tensor], None]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log of the sum of all exponentials and the highest logit, each of shape (positions,).

        ``take`` is called with the first token of each chunk and its logits.
        """
        positions = hidden.shape[0]
        highest = torch.full((positions, 1), -torch.inf, device=hidden.device)
        total = torch.zeros((positions, 1), device=hidden.device)
        for first, logits in self._chunks(hidden, at_once):
            take(first, logits)
            raised = torch.maximum(highest, logits.amax(1, keepdim=True))
            total *= (highest - raised).exp()
            total += logits.sub_(raised).clamp_(min=_LOWEST_EXPONENT).exp_().sum(1, keepdim=True)
            highest = raised
        return (highest + total.log()).squeeze(1), highest.squeeze(1)

    def _chunks(self, hidden: torch.Tensor, at_once: int) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the logits in chunks of the vocabulary, each with its first token."""
        # Some models keep their states in fp32 regardless of their weights.
        hidden = hidden.to(self.weight.dtype)
        vocabulary = self.weight.shape[0]
        size = max(_NARROWEST, at_once // max(hidden.shape[0], 1))
        for first in range(0, vocabulary, size):
            yield first, self.logits(hidden, first, min(first + size, vocabulary))


class LikelyPart:
    """The likely part of the vocabulary at the requested positions; None until it is learned from the first of them."""

    def __init__(self, projection: VocabularyProjection) -> None:
        """Start with no positions seen."""
        self.part: VocabularyProjection | None = None
        self._projection = projection
        self._probabilities = torch.zeros(projection.weight.shape[0], device=projection.weight.device)
        self._seen = 0

    def learn(self, hidden: torch.Tensor, at_once: int) -> None:
        """Learn from the next-token probabilities at these positions, until enough positions were seen.

        ``hidden`` has the shape (positions, hidden size); ``at_once`` logits are held in memory.
        """
        if self.part is not None:
            return
        hidden = hidden[: _LEARNED_FROM - self._seen]
        self._probabilities += self._projection.mean_probabilities(hidden, at_once) * len(hidden)
        self._seen += len(hidden)
        if self._seen == _LEARNED_FROM:
            tokens = self._probabilities.topk(len(self._probabilities) // _PARTS).indices
            self.part = self._projection.part(tokens.sort().values)


def find_projection(model: "PreTrainedModel") -> VocabularyProjection | None:
    """Return the projection by weights and configuration, unchecked; None if the output layer is not linear.

    None also for quantized weights, which cannot be taken apart.
    """
    layer = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    if not isinstance(layer, torch.nn.Linear) or layer.weight.dtype not in _PRECISIONS:
        return None
    # Libraries also store packed numbers in tensors that report a precision of floating point.
    if is_traceable_wrapper_subclass(layer.weight):
        return None
    config = model.config.get_text_config()
    scale = float(getattr(config, "logit_scale", None) or 1.0) / float(getattr(config, "logits_scaling", None) or 1.0)
    return VocabularyProjection(layer.weight, layer.bias, scale, getattr(config, "final_logit_softcapping", None))


def find_likely_part(model: "PreTrainedModel", projection: VocabularyProjection | None) -> LikelyPart | None:
    """Return a likely part to learn; None where it saves nothing, or where bounds could be below the whole sum."""
    if projection is None or projection.weight.dtype != torch.float32:
        return None
    embedding: Any = model.get_input_embeddings()
    # Parameters before the vocabulary; embeddings are looked up, not computed.
    body = sum(parameter.numel() for parameter in body_of(model).parameters()) - embedding.weight.numel()
    small = projection.weight.shape[0] < _SMALLEST_DIVIDED or projection.weight.numel() < _LEAST_SHARE * body
    return None if small else LikelyPart(projection)
