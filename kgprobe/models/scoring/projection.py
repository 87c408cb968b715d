"""From hidden states to log-probabilities of a few tokens each, without ever holding a whole vocabulary's.

The vocabulary is walked in chunks: each gives logits for all positions, adds to their running log-sum-exp in fp32, and
leaves behind only the logits of the tokens that were asked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from kgprobe.models.scoring.trie import Integers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# A chunk of the vocabulary has at least so many tokens; on a CPU, products as wide are the fastest.
_NARROWEST = 1024
# exp() of less than this is denormal in fp32: nothing next to a sum of at least 1, and twenty times slower.
_LOWEST_EXPONENT = -87.0
# Of a vocabulary of this size, one in so many tokens makes the likely part, which is learnt at so many positions: names
# and what else follows a sentence lie in it with about nine tenths of their probability.
_SMALLEST_DIVIDED = 1 << 13
_PARTS = 16
_LEARNT_FROM = 128
# Where the vocabulary costs less than this share of all else, next to nothing is saved.
_LEAST_SHARE = 0.25


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
        """The logits of the tokens ``first`` to ``last - 1``, in fp32.

        Args:
            hidden: shape (positions, hidden size).
            first, last: bounds within the vocabulary.

        Returns:
            shape (positions, last - first).
        """
        bias = None if self.bias is None else self.bias[first:last]
        return self._from_products(torch.nn.functional.linear(hidden, self.weight[first:last], bias))

    def _from_products(self, products: torch.Tensor) -> torch.Tensor:
        logits = products.float()
        if self.scale != 1.0:
            logits *= self.scale
        if self.soft_cap is not None:
            # Not in place, where gradients need what the tangent gave.
            logits = logits.div_(self.soft_cap).tanh_() * self.soft_cap
        return logits

    def log_probabilities(
        self, hidden: torch.Tensor, sources: Integers, targets: Integers, at_once: int
    ) -> torch.Tensor:
        """The log-probability of each target token after its source position, and of the most probable one there.

        Args:
            hidden: the positions' last hidden states, shape (positions, hidden size).
            sources: rows of ``hidden``, shape (edges,).
            targets: token ids, shape (edges,).
            at_once: about how many logits are held in memory, or a thousand for each position.

        Returns:
            fp32, shape (edges, 2), on the CPU; the two are equal, to the last bit, where the target is most probable.
        """
        device = hidden.device
        order = torch.argsort(torch.from_numpy(targets), stable=True)
        tokens = torch.from_numpy(targets)[order]
        rows = torch.from_numpy(sources)[order].to(device)
        asked = torch.empty(len(tokens), dtype=torch.float32, device=device)
        on_device = tokens.to(device)

        def take(first: int, logits: torch.Tensor) -> None:
            begin, end = torch.searchsorted(tokens, torch.tensor([first, first + logits.shape[1]])).tolist()
            asked[begin:end] = logits[rows[begin:end], on_device[begin:end] - first]

        normalizer, highest = self._normalizer(hidden, at_once, take)
        result = torch.empty((len(asked), 2), device=device)
        result[order.to(device)] = torch.stack([asked, highest[rows]], dim=1) - normalizer[rows, None]
        return result.cpu()

    def bounds(
        self, hidden: torch.Tensor, part: "VocabularyProjection", sources: Integers, targets: Integers, at_once: int
    ) -> torch.Tensor:
        """What the log-probability of each target token is at most, by a sum over a part of the vocabulary.

        Args:
            hidden, sources, targets, at_once: as in :meth:`log_probabilities`.
            part: that of :meth:`part`; the closer its probabilities add up to 1, the closer the bounds.

        Returns:
            fp32, shape (edges,), on the CPU, in (-inf, 0].
        """
        normalizer, _ = part._normalizer(hidden, at_once, lambda first, logits: None)
        result = torch.empty(len(targets), device=hidden.device)
        size = max(1, at_once // self.weight.shape[1])
        rows, tokens = (torch.from_numpy(which).to(hidden.device) for which in (sources, targets))
        for own in torch.split(torch.arange(len(targets), device=hidden.device), size):
            picked = self.part(tokens[own])
            products = torch.linalg.vecdot(picked.weight, hidden[rows[own]])
            result[own] = self._from_products(products if picked.bias is None else products + picked.bias)
        return (result - normalizer[rows]).clamp_(max=0.0).cpu()

    def part(self, tokens: torch.Tensor) -> "VocabularyProjection":
        """The projection to these tokens alone."""
        return replace(self, weight=self.weight[tokens], bias=None if self.bias is None else self.bias[tokens])

    def mean_probabilities(self, hidden: torch.Tensor, at_once: int) -> torch.Tensor:
        """The probabilities of all tokens, on average over positions; shape (vocabulary,)."""
        normalizer, _ = self._normalizer(hidden, at_once, lambda first, logits: None)
        return torch.cat(
            [logits.sub_(normalizer[:, None]).exp_().mean(0) for _, logits in self._chunks(hidden, at_once)]
        )

    def _normalizer(
        self, hidden: torch.Tensor, at_once: int, take: Callable[[int, torch.Tensor], None]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The logarithm of the sum of all exponentials, and the highest logit; each of shape (positions,).

        Args:
            hidden, at_once: as in :meth:`log_probabilities`.
            take: called with the first token of each chunk and its logits.
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
        """The logits in chunks of the vocabulary, each with its first token."""
        # Some models keep their states in fp32 whatever their weights are in.
        hidden = hidden.to(self.weight.dtype)
        vocabulary = self.weight.shape[0]
        size = max(_NARROWEST, at_once // max(hidden.shape[0], 1))
        for first in range(0, vocabulary, size):
            yield first, self.logits(hidden, first, min(first + size, vocabulary))


class LikelyPart:
    """The part of the vocabulary that a model's probability lies in, here where it is asked; learnt as it is asked.

    Attributes:
        part: the projection to it; None while it is not learnt.
    """

    def __init__(self, projection: VocabularyProjection) -> None:
        """Nothing is learnt yet."""
        self.part: VocabularyProjection | None = None
        self._projection = projection
        self._probabilities = torch.zeros(projection.weight.shape[0], device=projection.weight.device)
        self._seen = 0

    def learn(self, hidden: torch.Tensor, at_once: int) -> None:
        """See what follows these positions; once there were enough, nothing more is learnt.

        Args:
            hidden: last hidden states, shape (positions, hidden size).
            at_once: logits held in memory.
        """
        if self.part is not None:
            return
        hidden = hidden[: _LEARNT_FROM - self._seen]
        self._probabilities += self._projection.mean_probabilities(hidden, at_once) * len(hidden)
        self._seen += len(hidden)
        if self._seen == _LEARNT_FROM:
            tokens = self._probabilities.topk(len(self._probabilities) // _PARTS).indices
            self.part = self._projection.part(tokens.sort().values)


def find_projection(model: "PreTrainedModel") -> VocabularyProjection | None:
    """The projection as weights and configuration describe it, unchecked; None if there is no such thing."""
    layer = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    if not isinstance(layer, torch.nn.Linear):
        return None
    config = model.config.get_text_config()
    scale = float(getattr(config, "logit_scale", None) or 1.0) / float(getattr(config, "logits_scaling", None) or 1.0)
    return VocabularyProjection(layer.weight, layer.bias, scale, getattr(config, "final_logit_softcapping", None))


def find_likely_part(model: "PreTrainedModel", projection: VocabularyProjection | None) -> LikelyPart | None:
    """A likely part to be learnt; None where it would save nothing, or sums would not be sure to be less than whole."""
    if projection is None or projection.weight.dtype != torch.float32:
        return None
    embedding: Any = model.get_input_embeddings()
    # What a token meets before the vocabulary; its embedding is read, not computed with.
    body = sum(one.numel() for one in model.base_model.parameters()) - embedding.weight.numel()
    small = projection.weight.shape[0] < _SMALLEST_DIVIDED or projection.weight.numel() < _LEAST_SHARE * body
    return None if small else LikelyPart(projection)
