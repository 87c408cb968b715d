"""Contextual token vectors of an encoder of the BERT family, for comparison as in BERTScore."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring.batching import amount_for
from kgprobe.models.spec import read_model

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Vectors = NDArray[np.float32]

# Relative depth of the vectors: BERTScore's authors use layer 17 of 24 of RoBERTa large, their encoder for English.
_DEPTH = 17 / 24
_TOKENS_AT_ONCE = {"cpu": 4096, "cuda": 1 << 17}
# Token limit if neither the tokenizer nor the model has one.
_LIMIT = 512


class Encoder:
    """An encoder and its tokenizer.

    Attributes:
        revision: identity of its weights; None if unknown.
        layer: number of layers before the vectors.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        *,
        name: str,
        revision: str | None = None,
        layer: int | None = None,
    ) -> None:
        """Use the vectors after ``layer`` layers; None for 17/24 of the layers."""
        layers = int(model.config.get_text_config().num_hidden_layers)
        self.name = name
        self.revision = revision
        self.layer = round(_DEPTH * layers) if layer is None else layer
        if not 0 <= self.layer <= layers:
            raise KgprobeError(f"{name} has {layers} layers, so `layer` cannot be {layer}.")
        self._model: Any = model.eval()  # type: ignore[no-untyped-call]
        self._tokenizer = tokenizer
        positions = getattr(model.config.get_text_config(), "max_position_embeddings", None) or _LIMIT
        # RoBERTa's positions begin after the padding's.
        self._limit = min(int(tokenizer.model_max_length), int(positions) - 2)

    def describe(self) -> dict[str, object]:
        """Return all that is needed to reproduce the vectors, as JSON values."""
        return {"name": self.name, "revision": self.revision, "layer": self.layer}

    @torch.inference_mode()
    def vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text's tokens, of length 1, without those of special tokens.

        A text counts as part of a sentence: a space is prepended, which some tokenizers join to the first word. A text
        beyond the encoder's limit is truncated.

        Cost: a forward pass over batches of texts of similar length.

        Returns:
            for each text shape (tokens, hidden size); no row for a text without a token.
        """
        vectors: list[Vectors] = [np.empty((0, 0), dtype=np.float32)] * len(texts)
        if not texts:
            return vectors
        ids = self._tokenizer(
            [f" {text.strip()}" if text.strip() else "" for text in texts],
            # An apparent special token in a name is plain text.
            split_special_tokens=True,
            truncation=True,
            max_length=self._limit,
            return_special_tokens_mask=True,
        )
        sizes = list(map(len, ids["input_ids"]))
        for batch in self._batches(sizes):
            rows = [torch.tensor(ids["input_ids"][number], dtype=torch.int64) for number in batch]
            tokens = pad_sequence(rows, batch_first=True, padding_value=self._tokenizer.pad_token_id or 0)
            mask = pad_sequence(list(map(torch.ones_like, rows)), batch_first=True)
            device = self._model.device
            output = self._model(tokens.to(device), attention_mask=mask.to(device), output_hidden_states=True)
            states = torch.nn.functional.normalize(output.hidden_states[self.layer].float(), dim=-1).cpu().numpy()
            for row, number in enumerate(batch):
                special = np.array(ids["special_tokens_mask"][number], dtype=bool)
                vectors[number] = states[row, : sizes[number]][~special]
        return vectors

    def _batches(self, sizes: Sequence[int]) -> Iterator[list[int]]:
        most = amount_for(_TOKENS_AT_ONCE, self._model.device)
        batch: list[int] = []
        for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
            if batch and (len(batch) + 1) * sizes[batch[0]] > most:
                yield batch
                batch = []
            batch.append(number)
        if batch:
            yield batch


def load_encoder(
    spec: str,
    *,
    layer: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
) -> Encoder:
    """Return the encoder of that name; arguments and errors as in :func:`~kgprobe.models.spec.load_scorer`.

    Args:
        layer: number of layers before the vectors; None as in :class:`Encoder`.
    """
    # The pooler, missing in some encoders' files, is not used here.
    dispensable = ("pooler.",)
    loaded = read_model(spec, "AutoModel", device=device, dtype=dtype, dispensable=dispensable)
    return Encoder(loaded.model, loaded.tokenizer, name=spec, revision=loaded.revision, layer=layer)
