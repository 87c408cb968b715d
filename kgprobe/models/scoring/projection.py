"""From hidden states to log-probabilities of a few tokens each, without ever holding a whole vocabulary's.

The vocabulary is walked in chunks: each gives logits for all positions, adds to their running log-sum-exp in fp32, and
leaves behind only the logits of the tokens that were asked for.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from kgprobe.models.scoring.trie import Integers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# A chunk of the vocabulary has at least so many tokens; on a CPU, products as wide are the fastest.
_NARROWEST = 1024
# exp() of less than this is denormal in fp32: nothing next to a sum of at least 1, and twenty times slower.
_LOWEST_EXPONENT = -87.0


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
        logits = torch.nn.functional.linear(hidden, self.weight[first:last], bias).float()
        if self.scale != 1.0:
            logits *= self.scale
        if self.soft_cap is not None:
            logits = logits.div_(self.soft_cap).tanh_().mul_(self.soft_cap)
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
        # Some models keep their states in fp32 whatever their weights are in.
        hidden = hidden.to(self.weight.dtype)
        order = torch.argsort(torch.from_numpy(targets), stable=True)
        tokens = torch.from_numpy(targets)[order]
        rows = torch.from_numpy(sources)[order].to(device)
        vocabulary, positions = self.weight.shape[0], hidden.shape[0]
        size = max(_NARROWEST, at_once // max(positions, 1))
        bounds = list(range(0, vocabulary, size))
        cuts = torch.searchsorted(tokens, torch.tensor([*bounds, vocabulary])).tolist()
        tokens = tokens.to(device)

        asked = torch.empty(len(tokens), dtype=torch.float32, device=device)
        highest = torch.full((positions, 1), -torch.inf, device=device)
        total = torch.zeros((positions, 1), device=device)
        for first, begin, end in zip(bounds, cuts, cuts[1:], strict=False):
            logits = self.logits(hidden, first, min(first + size, vocabulary))
            asked[begin:end] = logits[rows[begin:end], tokens[begin:end] - first]
            raised = torch.maximum(highest, logits.amax(1, keepdim=True))
            total *= (highest - raised).exp()
            total += logits.sub_(raised).clamp_(min=_LOWEST_EXPONENT).exp_().sum(1, keepdim=True)
            highest = raised
        normalizer = (highest + total.log()).squeeze(1)
        result = torch.empty((len(asked), 2), device=device)
        result[order.to(device)] = torch.stack([asked, highest.squeeze(1)[rows]], dim=1) - normalizer[rows, None]
        return result.cpu()


def find_projection(model: "PreTrainedModel") -> VocabularyProjection | None:
    """The projection as weights and configuration describe it, unchecked; None if there is no such thing."""
    layer = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    if not isinstance(layer, torch.nn.Linear):
        return None
    config = model.config.get_text_config()
    scale = float(getattr(config, "logit_scale", None) or 1.0) / float(getattr(config, "logits_scaling", None) or 1.0)
    return VocabularyProjection(layer.weight, layer.bias, scale, getattr(config, "final_logit_softcapping", None))
