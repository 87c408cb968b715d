"""Rank of a token among all next tokens, by the model's own logits at the end of a context."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring.batching import amount_for, compute_in_batches
from kgprobe.models.scoring.forward import in_eval_mode
from kgprobe.models.scoring.trie import Integers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_LOGITS_AT_ONCE = {"cpu": 1 << 25, "cuda": 1 << 29}
_TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 1 << 16}


@torch.inference_mode()
def next_token_ranks(
    model: "PreTrainedModel",
    contexts: Sequence[tuple[int, ...]],
    tokens: Sequence[Sequence[int]],
    batch_tokens: int | None = None,
) -> list[Integers]:
    """Return the ranks of given tokens among the model's whole vocabulary after each context.

    A rank is the number of tokens with at least the token's own logit, itself included: 1 is the most probable, and a
    tie counts against the token.

    Cost: a forward pass over each distinct context, those of equal length batched without padding, and the logits of
    its last position alone; in smaller batches where memory is short.

    Args:
        contexts: token ids, at least one each.
        batch_tokens: maximum tokens per forward pass; None for the limit of memory.

    Returns:
        for each context one rank per token, in 1 … size of the vocabulary.
    """
    positions: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, context in enumerate(contexts):
        positions[context].append(number)
    ranks = [np.zeros(len(ids), dtype=np.int64) for ids in tokens]
    vocabulary = model.config.get_text_config().vocab_size
    most_rows = max(1, amount_for(_LOGITS_AT_ONCE, model.device) // vocabulary)
    most_tokens = batch_tokens or amount_for(_TOKENS_AT_ONCE, model.device)

    def alike(rest: Sequence[tuple[int, ...]]) -> int:
        """Return the number of leading contexts of equal length that fit into a batch."""
        length = len(rest[0])
        most = min(most_rows, max(1, most_tokens // length))
        return sum(1 for _ in takewhile(lambda context: len(context) == length, rest[:most]))

    order = sorted(positions, key=lambda context: (-len(context), context))
    with in_eval_mode(model):
        for batch, logits in compute_in_batches(order, alike, partial(_last_logits, model), model.device):
            if logits is None:
                raise KgprobeError(
                    f"A context of {len(batch[0])} tokens does not fit into the memory of {model.device}."
                )
            for row, context in zip(logits, batch, strict=True):
                for number in positions[context]:
                    ids = torch.tensor(list(tokens[number]), dtype=torch.int64, device=row.device)
                    counts = torch.stack([(row >= own).sum() for own in row[ids]]) if len(ids) else ids
                    ranks[number][:] = counts.cpu().numpy()
    return ranks


def _last_logits(model: Any, contexts: Sequence[tuple[int, ...]]) -> torch.Tensor:
    """Return the last logits of contexts of equal length, shape (contexts, vocabulary)."""
    tokens = torch.tensor(contexts, dtype=torch.int64, device=model.device)
    logits: torch.Tensor = model(input_ids=tokens, use_cache=False, logits_to_keep=1).logits[:, -1]
    if logits.isnan().any():
        raise KgprobeError("The model's logits are not numbers; its weights are broken.")
    return logits
