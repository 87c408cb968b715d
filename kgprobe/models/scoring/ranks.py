"""Where a token stands among all that could come next, by the model's own logits at the end of a context."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.models.eval_mode import in_eval_mode
from kgprobe.models.scoring.batching import compute_in_batches

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Integers = NDArray[np.int64]

_LOGITS_AT_ONCE = {"cpu": 1 << 25, "cuda": 1 << 29}
_TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 1 << 16}


@torch.inference_mode()
def next_token_ranks(
    model: "PreTrainedModel",
    contexts: Sequence[tuple[int, ...]],
    tokens: Sequence[Sequence[int]],
    batch_tokens: int | None = None,
) -> list[Integers]:
    """The ranks of given tokens among the model's whole vocabulary after each context.

    A rank is the number of tokens with at least the token's own logit, itself included: 1 is the most probable, and
    a tie counts against the token.

    Cost: a forward pass over each different context, those of equal length together so that nothing is padded, and
    the logits of its last position alone; in smaller batches where memory is short.

    Args:
        model: a causal language model.
        contexts: token ids, at least one each.
        tokens: for each context any number of token ids.
        batch_tokens: how many go through the model at once, at most; None is as many as memory holds.

    Returns:
        for each context one rank a token, in 1 … size of the vocabulary.

    Raises:
        KgprobeError: the model's logits are not numbers, or one context does not fit into memory.
    """
    wanted: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, context in enumerate(contexts):
        wanted[context].append(number)
    ranks = [np.zeros(len(its), dtype=np.int64) for its in tokens]
    vocabulary = model.config.get_text_config().vocab_size
    device = model.device.type
    most_rows = max(1, _LOGITS_AT_ONCE.get(device, _LOGITS_AT_ONCE["cpu"]) // vocabulary)
    most_tokens = batch_tokens or _TOKENS_AT_ONCE.get(device, _TOKENS_AT_ONCE["cpu"])

    def alike(rest: Sequence[tuple[int, ...]]) -> int:
        """How many of the first are of one length, as far as they go together."""
        length = len(rest[0])
        most = min(most_rows, max(1, most_tokens // length))
        return sum(1 for _ in takewhile(lambda context: len(context) == length, rest[:most]))

    order = sorted(wanted, key=lambda context: (-len(context), context))
    with in_eval_mode(model):
        for batch, logits in compute_in_batches(order, alike, partial(_last_logits, model), model.device):
            if logits is None:
                raise KgprobeError(
                    f"A context of {len(batch[0])} tokens does not fit into the memory of {model.device}."
                )
            for row, context in zip(logits, batch, strict=True):
                for number in wanted[context]:
                    asked = torch.tensor(list(tokens[number]), dtype=torch.int64, device=row.device)
                    counts = torch.stack([(row >= own).sum() for own in row[asked]]) if len(asked) else asked
                    ranks[number][:] = counts.cpu().numpy()
    return ranks


def _last_logits(model: Any, contexts: Sequence[tuple[int, ...]]) -> torch.Tensor:
    """Shape (contexts, vocabulary); the contexts are of one length."""
    tokens = torch.tensor(contexts, dtype=torch.int64, device=model.device)
    logits: torch.Tensor = model(input_ids=tokens, use_cache=False, logits_to_keep=1).logits[:, -1]
    if logits.isnan().any():
        raise KgprobeError("The model's logits are not numbers; its weights are broken.")
    return logits
