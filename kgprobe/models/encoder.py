"""Vectors of a text's tokens in their context, by an encoder of the BERT family, as BERTScore compares them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.models.spec import read_model

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Vectors = NDArray[np.float32]

# Of the layers, where BERTScore's authors read RoBERTa large (the 17th of 24), the encoder they advise for English.
_DEPTH = 17 / 24
_TOKENS_AT_ONCE = {"cpu": 4096, "cuda": 1 << 17}
# Where neither the tokenizer nor the model says how much it takes in.
_LIMIT = 512


class Encoder:
    """An encoder and its tokenizer.

    Attributes:
        name: its spec.
        revision: what fixes its weights; None if unknown.
        layer: after how many of its layers the vectors are read.
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
        """Reads the vectors after ``layer`` layers; None takes 17 of 24, and as far down in others.

        Raises:
            KgprobeError: it has no such layer.
        """
        layers = int(model.config.get_text_config().num_hidden_layers)
        self.name = name
        self.revision = revision
        self.layer = round(_DEPTH * layers) if layer is None else layer
        if not 0 <= self.layer <= layers:
            raise KgprobeError(f"{name} has {layers} layers; vectors after layer {layer} it has not.")
        self._model: Any = model.eval()  # type: ignore[no-untyped-call]
        self._tokenizer = tokenizer
        positions = getattr(model.config.get_text_config(), "max_position_embeddings", None) or _LIMIT
        # RoBERTa's positions begin behind the padding's.
        self._limit = min(int(tokenizer.model_max_length), int(positions) - 2)

    def describe(self) -> dict[str, object]:
        """What one needs to know to get the same vectors again; plain values, as JSON has them."""
        return {"name": self.name, "revision": self.revision, "layer": self.layer}

    @torch.inference_mode()
    def vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """The vectors of each text's tokens, of length 1, without those of special tokens.

        A text stands within a sentence: a space is put in front, which tokenizers that heed it take as part of the
        first word. What is longer than the encoder takes in is cut.

        Cost: a forward pass, texts of similar length together.

        Returns:
            for each text shape (tokens, hidden size); no row for a text without a token.
        """
        found: list[Vectors] = [np.empty((0, 0), dtype=np.float32)] * len(texts)
        if not texts:
            return found
        ids = self._tokenizer(
            [f" {text.strip()}" if text.strip() else "" for text in texts],
            # What looks like a special token in a name is the text it is.
            split_special_tokens=True,
            truncation=True,
            max_length=self._limit,
            return_special_tokens_mask=True,
        )
        sizes = [len(one) for one in ids["input_ids"]]
        for batch in self._batches(sizes):
            longest = max(sizes[number] for number in batch)
            tokens = torch.zeros((len(batch), longest), dtype=torch.int64)
            mask = torch.zeros((len(batch), longest), dtype=torch.int64)
            if self._tokenizer.pad_token_id is not None:
                tokens += self._tokenizer.pad_token_id
            for row, number in enumerate(batch):
                tokens[row, : sizes[number]] = torch.tensor(ids["input_ids"][number])
                mask[row, : sizes[number]] = 1
            device = self._model.device
            output = self._model(tokens.to(device), attention_mask=mask.to(device), output_hidden_states=True)
            states = torch.nn.functional.normalize(output.hidden_states[self.layer].float(), dim=-1).cpu().numpy()
            for row, number in enumerate(batch):
                special = np.array(ids["special_tokens_mask"][number], dtype=bool)
                found[number] = states[row, : sizes[number]][~special]
        return found

    def _batches(self, sizes: Sequence[int]) -> Iterator[list[int]]:
        most = _TOKENS_AT_ONCE.get(self._model.device.type, _TOKENS_AT_ONCE["cpu"])
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
    revision: str | None = None,
) -> Encoder:
    """The encoder of that name; arguments and errors as in :func:`~kgprobe.models.spec.load_scorer`.

    Args:
        layer: after how many layers vectors are read; None as in :class:`Encoder`.
    """
    # What makes one vector of a whole text is not in every encoder's files, and not used here.
    dispensable = ("pooler.",)
    model, tokenizer, identity = read_model(
        spec, "AutoModel", device=device, dtype=dtype, revision=revision, dispensable=dispensable
    )
    return Encoder(model, tokenizer, name=spec, revision=identity, layer=layer)
