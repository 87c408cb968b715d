"""Hidden states of the last tokens of texts, at chosen layers.

Common beginnings of texts go through a model once, as in scoring (:mod:`kgprobe.models.scoring`). Only the states of
last tokens leave the device, and the pass stops at the last layer that is read. Used by the judge
(docs/methods/judge.md).

Texts are packed in rows that store the common prefixes of neighbours once. Sorted by their tokens, texts are the leaves
of a trie in the order of a walk through it. So a node's descendants directly follow it, and their end defines the
attention mask. All steps are vectorized over texts, except filling rows.

Layer 0 is the input of the first layer, the embeddings; layer l is the output of the l-th; the output of the last layer
is taken after the model's final norm. Numbers and values agree with `output_hidden_states` of `transformers` for most
models.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.computing import in_turn
from kgprobe.models.scoring.batching import compute_if_it_fits
from kgprobe.models.scoring.body import body_of, last_states
from kgprobe.models.scoring.check import METHOD_MEANINGS
from kgprobe.models.scoring.contract import report
from kgprobe.models.scoring.cuts import last_cut
from kgprobe.models.scoring.forward import (
    OWN_CACHE,
    PLACES_A_TOKEN,
    AnyPrefix,
    ScoringMethod,
    extend,
    in_eval_mode,
    keys_and_values,
    length_of,
    packed_states,
    run_method,
    virtual_prefix,
)
from kgprobe.models.scoring.masks import Spans
from kgprobe.models.scoring.own_cache import SHORTEST_COPY
from kgprobe.models.scoring.plan import Stage, batches, batches_ahead
from kgprobe.models.scoring.tokens import (
    TokenizedPrompt,
    chat_tokens,
    common_prefix,
    encode_as_is,
    encoder_of,
    no_unicode,
    not_unicode,
)
from kgprobe.models.scoring.trie import Integers, build_tree, merge

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from kgprobe.models.scoring.scorer import Scorer

Floats = NDArray[np.float32]

# Nodes per row: more cost attention to each other.
_ROW = 256
# Texts that are sorted and packed at once: enough for those of one subject to meet.
_TEXTS = 4096
# A shorter common prefix is not worth its own forward pass.
_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class States:
    """Hidden states of texts.

    Attributes:
        values: fp32, shape (texts, layers, hidden size); NaN for a text that has a reason.
        reasons: why a text has no states, as a clause, by its position.
    """

    values: Floats
    reasons: Mapping[int, str] = field(default_factory=dict)


class StateReader:
    """Reader of some layers of a model.

    >>> reader = StateReader(scorer, [6, 12])
    >>> states = reader.read(["Paris is in France.", "Paris is in Spain."])
    >>> states.values.shape
    (2, 2, 640)

    Attributes:
        layers: their numbers, ascending.
    """

    def __init__(self, scorer: "Scorer", layers: Sequence[int]) -> None:
        """Use the parts of a scorer.

        Raises:
            ArgumentError: no layer is given, or the model has no layer of a number.
            KgprobeError: the model's layers cannot be found.
        """
        count = layer_count(scorer.model)
        self.layers = tuple(sorted(set(layers)))
        if not self.layers or self.layers[0] < 0 or self.layers[-1] > count:
            raise ArgumentError("layers", f"is {list(layers)}; expected numbers from 0 to {count}.")
        find_layers(scorer.model)
        self._scorer = scorer
        self._model = scorer.model
        self._method: ScoringMethod = scorer.choice.method
        self._limits, self._prefixes = scorer.limits, scorer.prefixes

    def read(
        self,
        texts: Sequence[str],
        *,
        beginning: str = "",
        chat: bool = False,
        virtual: Floats | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> States:
        """Return the states of the texts' last tokens.

        Cost: each token that texts do not share, once, through the layers up to the last one read. Fastest if texts
        with common prefixes are near each other. All states are in memory: texts × layers × hidden size.

        Args:
            texts: any texts.
            beginning: text before all of them, such as an instruction; computed once for this and later calls.
            chat: True if beginning and texts come from a chat template: their special tokens are recognized, and the
                tokenizer's own are not prepended again.
            virtual: embeddings that replace a beginning, after the tokenizer's own special tokens; shape (virtual
                tokens, hidden size).
            progress: called now and then with the number of texts done since the last call.

        Raises:
            KgprobeError: one text alone does not fit into memory, the model's states are not numbers, or the model does
                not support virtual tokens.
        """
        values = self._nans(len(texts))
        reasons: dict[int, str] = {}
        first = 0
        with closing(self.prepare(texts, beginning=beginning, chat=chat, virtual=virtual)) as parts:
            for part in parts:
                states = self.compute(part, progress)
                values[first : first + part.count] = states.values
                reasons.update((first + place, reason) for place, reason in states.reasons.items())
                first += part.count
        return States(values, reasons)

    def prepare(
        self, texts: Sequence[str], *, beginning: str = "", chat: bool = False, virtual: Floats | None = None
    ) -> "Generator[PreparedTexts]":
        """Yield parts of texts, prepared for :meth:`compute`; the next part is prepared in a thread meanwhile.

        Args: see :meth:`read`.
        """
        prepare = partial(self._prepare, beginning=beginning, chat=chat, virtual=virtual)
        stage = Stage(texts, [(1, 1)] * len(texts))
        with closing(batches_ahead([stage], prepare, lambda: _TEXTS)) as parts:
            for _, _, part in parts:
                yield part

    @in_turn
    def compute(self, part: "PreparedTexts", progress: Callable[[int], None] | None = None) -> States:
        """Return the states of a part of texts, see :meth:`read`."""
        values = self._nans(part.count)
        given = None if part.virtual is None else self._virtual_prefix(part.virtual)
        if part.tokens:
            values[part.places] = read = self._read(part, given)
            if np.isnan(read.min()):
                raise KgprobeError("The model's hidden states are not numbers; its weights are broken.")
        report(progress, part.count)
        return States(values, part.reasons)

    def _prepare(self, texts: Sequence[str], beginning: str, chat: bool, virtual: Floats | None) -> "PreparedTexts":
        before = 0 if virtual is None else len(self._scorer.leading) + len(virtual)
        ids, reasons = self._tokenize(texts, beginning, chat, before)
        places = np.array([place for place in range(len(texts)) if place not in reasons], dtype=np.int64)
        tokens = [ids[place] for place in places]
        common: tuple[int, ...] = ()
        if tokens and virtual is None and self._method not in ("rows", "plain"):
            # What the first and the last in their order share, all share. Without the last token of any text.
            tokens_and_beginning = [*tokens, *self._ids([""], beginning, chat)]
            shared = common_prefix(min(tokens_and_beginning), max(tokens_and_beginning))
            common = tokens[0][: min(shared, min(map(len, tokens)) - 1)]
        if len(common) < _SHORTEST:
            common = ()
        packed = self._pack(tokens, before or len(common)) if tokens and self._method == "packed" else None
        return PreparedTexts(len(texts), places, tokens, reasons, virtual, common, packed)

    def _ids(self, texts: Sequence[str], beginning: str, chat: bool) -> list[tuple[int, ...]]:
        """Return the tokens of valid Unicode texts after a beginning, with the special tokens before every text."""
        tokenizer = self._scorer.tokenizer
        if chat:
            return list(map(tuple, chat_tokens(tokenizer, [beginning + text for text in texts])))
        # The beginning up to its last cut is tokenized once.
        cut = last_cut(beginning, encoder_of(tokenizer).before_cuts)
        first = tuple(chain(self._scorer.leading, *encode_as_is(tokenizer, [beginning[:cut]] if cut else [])))
        rest = encode_as_is(tokenizer, [beginning[cut:] + text for text in texts])
        return [(*first, *ids) for ids in rest]

    def _tokenize(
        self, texts: Sequence[str], beginning: str, chat: bool, before: int
    ) -> tuple[list[tuple[int, ...]], dict[int, str]]:
        """Return the texts' tokens after a beginning or virtual tokens, and the reasons of invalid texts."""
        odd = range(len(texts)) if not_unicode([beginning]) else not_unicode(texts)
        reasons = {place: no_unicode(texts[place]) for place in odd}
        if reasons:
            texts = ["" if place in reasons else text for place, text in enumerate(texts)]
        tokens = self._ids(texts, "" if len(reasons) == len(texts) else beginning, chat)
        if before:
            # The virtual tokens come first; any id keeps their places.
            leading = 0 if chat else len(self._scorer.leading)
            tokens = [(0,) * before + ids[leading:] for ids in tokens]
        for place, ids in enumerate(tokens):
            if place not in reasons and (problem := self._problem(len(ids), before)):
                reasons[place] = problem
        return tokens, reasons

    @torch.inference_mode()
    def _virtual_prefix(self, virtual: Floats) -> AnyPrefix:
        if self._method in ("rows", "plain"):
            raise KgprobeError(
                f"{type(self._model).__name__} does not support virtual tokens (computed as:"
                f" {METHOD_MEANINGS[self._method]}). Use an instruction instead."
            )
        with in_eval_mode(self._model):
            return virtual_prefix(self._model, self._method, self._scorer.leading, torch.from_numpy(virtual))

    def _problem(self, length: int, before: int) -> str | None:
        if length <= before:
            return "the text is empty, and no token precedes it"
        if self._scorer.max_tokens is not None and length > self._scorer.max_tokens:
            return f"the text has {length} tokens, more than the {self._scorer.max_tokens} that the model accepts"
        return None

    @torch.inference_mode()
    def _read(self, part: "PreparedTexts", given: AnyPrefix | None) -> Floats:
        with in_eval_mode(self._model):
            prefix = given
            if part.common:
                first = np.array(part.common, dtype=np.int64)
                prefix = self._prefixes.get(first, partial(self._compute_prefix, first))
            if part.packed is None:
                return self._read_apart(part.tokens, prefix)
            return self._read_packed(part.tokens, part.packed, prefix)

    def _compute_prefix(self, tokens: Integers) -> AnyPrefix:
        at_once = min(self._limits.tokens, len(tokens))
        longer = compute_if_it_fits(
            partial(extend, self._model, self._method, None, tokens, at_once), self._model.device
        )
        if longer is None:
            raise KgprobeError(
                f"The texts' common prefix of {len(tokens)} tokens does not fit into the memory of"
                f" {self._model.device}; shorten it, or use `dtype` bfloat16."
            )
        return longer

    def _pack(self, tokens: Sequence[Sequence[int]], before: int) -> "PackedTexts":
        offsets = np.append(0, np.cumsum(list(map(len, tokens))))
        ids = np.fromiter(chain.from_iterable(tokens), dtype=np.int64, count=int(offsets[-1]))
        return pack(ids, offsets, before, min(_ROW, self._limits.tokens))

    def _read_packed(self, tokens: Sequence[Sequence[int]], packed: "PackedTexts", prefix: AnyPrefix | None) -> Floats:
        keys = None if prefix is None else keys_and_values(prefix)
        before = length_of(keys)
        sizes = np.diff(packed.offsets)
        values = self._nans(len(tokens))
        order = np.argsort(-sizes, kind="stable")
        texts_by_row = np.argsort(packed.rows, kind="stable")
        bounds = np.searchsorted(packed.rows[texts_by_row], np.arange(len(sizes) + 1))

        def read(rows: Sequence[int]) -> torch.Tensor:
            block, depths, spans = block_of(packed, np.array(rows))
            longest = block.shape[1]
            places = np.concatenate([place * longest + packed.columns[texts_of(row)] for place, row in enumerate(rows)])
            run = partial(packed_states, self._model, block, depths, spans, keys)
            return self._states_at(places, run).cpu()

        def texts_of(row: int) -> Integers:
            return texts_by_row[bounds[row] : bounds[row + 1]]

        padded = [(1, int(sizes[row]) + before // PLACES_A_TOKEN) for row in order]
        for batch in batches(order.tolist(), padded, lambda: self._limits.tokens):
            for rows, states in self._read_batch(batch, read, lambda row: int(sizes[row])):
                texts = np.concatenate(list(map(texts_of, rows)))
                if states is not None:
                    values[texts] = states.numpy()
                elif len(texts) > 1:
                    # Into the smaller rows of the reduced limits.
                    rest = [tokens[text] for text in texts]
                    values[texts] = self._read_packed(rest, self._pack(rest, before), prefix)
                else:
                    raise self._too_long(tokens[texts[0]])
        return values

    def _read_apart(self, tokens: Sequence[Sequence[int]], prefix: AnyPrefix | None) -> Floats:
        """Read every text in a row of its own, for models that do not support packed rows."""
        before = length_of(prefix)
        # Texts do not branch.
        method: ScoringMethod = "copies" if self._method in OWN_CACHE else self._method
        shortest = SHORTEST_COPY if method == "copies" else 1
        values = self._nans(len(tokens))
        order = sorted(range(len(tokens)), key=lambda place: -len(tokens[place]))

        def read(places: Sequence[int]) -> torch.Tensor:
            if self._method == "plain":
                (place,) = places
                last = np.array([len(tokens[place]) - 1])
                return self._states_at(last, partial(self._plain_states, tokens[place])).cpu()
            forests = []
            for place in places:
                text = TokenizedPrompt(tuple(tokens[place]), (len(tokens[place]),), ((0,),))
                forests.append(merge([build_tree(0, text, [0])], before))
            longest = max(shortest, max(len(tokens[place]) for place in places) - before)
            last = np.array([row * longest + len(tokens[place]) - before - 1 for row, place in enumerate(places)])
            return self._states_at(last, lambda: run_method(self._model, method, forests, prefix)[0][None]).cpu()

        padded = [(1, len(tokens[place]) - before + before // PLACES_A_TOKEN) for place in order]
        most = 1 if self._method == "plain" else self._limits.tokens
        for batch in batches(order, padded, lambda: most):
            for places, states in self._read_batch(batch, read, lambda place: len(tokens[place])):
                if states is None:
                    raise self._too_long(tokens[places[0]])
                values[list(places)] = states.numpy()
        return values

    def _read_batch(
        self, batch: Sequence[int], read: Callable[[Sequence[int]], torch.Tensor], size: Callable[[int], int]
    ) -> list[tuple[Sequence[int], torch.Tensor | None]]:
        """Read a batch at once, or in halves where memory is short; None for a text that does not fit alone.

        States are on the CPU: the copy ends the computation, whose time is counted.
        """
        self._limits.begin()
        states = compute_if_it_fits(partial(read, batch), self._model.device)
        padded = len(batch) * max(map(size, batch))
        if states is not None:
            self._limits.went_well(padded)
            return [(batch, states)]
        if self._prefixes.forget():
            return self._read_batch(batch, read, size)
        self._limits.back_off(padded)
        if len(batch) == 1:
            return [(batch, None)]
        middle = len(batch) // 2
        return [*self._read_batch(batch[:middle], read, size), *self._read_batch(batch[middle:], read, size)]

    def _too_long(self, tokens: Sequence[int]) -> KgprobeError:
        return KgprobeError(
            f"A text of {len(tokens)} tokens does not fit into the memory of {self._model.device}; shorten it, or"
            " use `dtype` bfloat16."
        )

    def _plain_states(self, tokens: Sequence[int]) -> torch.Tensor:
        return last_states(self._model, np.array([tokens], dtype=np.int64), None)

    def _states_at(self, places: Integers, run: Callable[[], torch.Tensor]) -> torch.Tensor:
        on_device = torch.from_numpy(places).to(self._model.device)
        return states_at(self._model, self.layers, on_device, run)

    def _nans(self, texts: int) -> Floats:
        return np.full((texts, len(self.layers), state_size(self._model)), np.nan, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class PreparedTexts:
    """Texts as tokens.

    Attributes:
        count: number of texts.
        places: places of the texts that the model can take, in ascending order, shape (texts,).
        tokens: their tokens.
        reasons: why a text has no states, as a clause, by its place.
        virtual: embeddings before the texts; None for none.
        common: first tokens of all texts, which are computed once.
        packed: the tokens in rows; None to read every text in a row of its own.
    """

    count: int
    places: Integers
    tokens: Sequence[tuple[int, ...]]
    reasons: Mapping[int, str]
    virtual: Floats | None
    common: tuple[int, ...]
    packed: "PackedTexts | None"


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """Rows of nodes after a prefix that all texts begin with.

    Attributes:
        tokens: ids of all rows' nodes, row by row, shape (nodes,).
        depths: number of tokens before a node in its text, prefix included, shape (nodes,).
        ends: the place in its row after the last node that sees a node, shape (nodes,).
        offsets: beginning of each row, and the end of the last, shape (rows + 1,).
        rows, columns: place of each text's last token, in the order given, shape (texts,).
    """

    tokens: Integers
    depths: Integers
    ends: Integers
    offsets: Integers
    rows: Integers
    columns: Integers


def pack(ids: Integers, offsets: Integers, prefix: int, most: int) -> PackedTexts:
    """Pack texts in rows of at most so many nodes, or of one text.

    >>> packed = pack(np.array([7, 1, 2, 7, 1, 3, 7, 1]), np.array([0, 3, 6, 8]), prefix=1, most=8)
    >>> packed.tokens.tolist(), packed.depths.tolist(), packed.ends.tolist(), packed.columns.tolist()
    ([1, 2, 3], [1, 2, 2], [3, 2, 3], [1, 2, 0])

    Cost: sorting; temporary memory of texts × the longest text.

    Args:
        ids: the tokens of all texts, one after the other, each not negative.
        offsets: beginning of each text in them, and the end of the last, shape (texts + 1,).
        prefix: number of common leading tokens to leave out; each text has more.
        most: maximum nodes in a row.
    """
    count = len(offsets) - 1
    lengths = np.diff(offsets) - prefix
    longest = int(lengths.max())
    # Tokens are shifted by 1, so that padding sorts before every token.
    padded = np.zeros((count, longest), dtype=">u4")
    inside = np.arange(longest) < lengths[:, None]
    kept = np.arange(len(ids)) - np.repeat(offsets[:-1], np.diff(offsets)) >= prefix
    padded[inside] = ids[kept] + 1
    # Rows compare fastest as bytes.
    order = np.argsort(padded.view(f"S{4 * longest}").ravel(), kind="stable")
    padded, lengths, inside = padded[order], lengths[order], inside[order]

    shared = np.zeros(count, dtype=np.int64)
    alike = (padded[1:] == padded[:-1]) & inside[1:]
    shared[1:] = np.logical_and.accumulate(alike, axis=1).sum(axis=1)
    row_of, starts, sizes = _fill(lengths.tolist(), shared.tolist(), most)
    first = np.flatnonzero(np.diff(row_of, prepend=-1))
    shared[first] = 0
    fresh = lengths - shared

    text = np.repeat(np.arange(count), fresh)
    within = np.arange(len(text)) - np.repeat(np.cumsum(fresh) - fresh, fresh) + shared[text]
    # A node is visible until the next text whose shared length is at most this node's depth.
    parting = np.where(shared[:, None] <= np.arange(longest), np.arange(count)[:, None], count)
    following = np.full((count, longest), count)
    following[:-1] = np.minimum.accumulate(parting[::-1], axis=0)[::-1][1:]
    ending = following[text, within]
    beyond = (ending == count) | (np.append(row_of, -1)[ending] != row_of[text])
    ends = np.where(beyond, sizes[row_of[text]], np.append(starts, 0)[ending])

    # A repeated text has no node of its own.
    last = np.maximum.accumulate(np.where(fresh > 0, np.arange(count), 0))
    columns = np.empty(count, dtype=np.int64)
    rows = np.empty(count, dtype=np.int64)
    columns[order] = starts[last] + fresh[last] - 1
    rows[order] = row_of
    tokens = padded[text, within].astype(np.int64) - 1
    return PackedTexts(tokens, within + prefix, ends, np.append(0, np.cumsum(sizes)), rows, columns)


def block_of(packed: PackedTexts, rows: Integers) -> tuple[Integers, Integers, Spans]:
    """Return these rows, padded to the longest; padding sees itself alone, because a softmax over nothing is NaN.

    Returns:
        tokens, depths, and times of a walk through the texts, each of shape (rows, longest).
    """
    sizes = packed.offsets[rows + 1] - packed.offsets[rows]
    longest = int(sizes.max())
    places = np.arange(longest)
    inside = places < sizes[:, None]
    nodes = np.where(inside, packed.offsets[rows][:, None] + places, packed.offsets[rows][:, None])
    ends = np.where(inside, packed.ends[nodes], places + 1)
    # Padding repeats a node of the row.
    entries = np.broadcast_to(places, ends.shape).astype(np.int32)
    return packed.tokens[nodes], packed.depths[nodes], Spans(entries, ends.astype(np.int32))


def _fill(lengths: list[int], shared: list[int], most: int) -> tuple[Integers, Integers, Integers]:
    """Return each text's row, the beginning of its own nodes there, and the number of nodes of each row."""
    row, size = -1, most
    rows, starts, sizes = [], [], []
    for length, common in zip(lengths, shared, strict=True):
        fresh = length - common
        if row < 0 or size + fresh > most:
            if row >= 0:
                sizes.append(size)
            row, size, fresh = row + 1, 0, length
        rows.append(row)
        starts.append(size)
        size += fresh
    sizes.append(size)
    return np.array(rows), np.array(starts), np.array(sizes)


class _EnoughError(Exception):
    """Signal that the last requested layer has been read, to leave the model's code."""


def layer_count(model: "PreTrainedModel") -> int:
    """Return the number of a model's layers; hidden states are numbered from 0 to this."""
    return int(model.config.get_text_config().num_hidden_layers)


def state_size(model: "PreTrainedModel") -> int:
    """Return the size of a model's hidden states."""
    return int(model.config.get_text_config().hidden_size)


def find_layers(model: "PreTrainedModel") -> "Sequence[torch.nn.Module]":
    """Return the modules of a model's layers, in order; raise a KgprobeError unless it has exactly one such list."""
    count = layer_count(model)
    modules = body_of(model).modules()
    lists = [module for module in modules if isinstance(module, torch.nn.ModuleList) and len(module) == count]
    if len(lists) != 1:
        raise KgprobeError(
            f"{type(model).__name__} has {len(lists)} lists of {count} modules; to read hidden states, it needs"
            " exactly one, the list of its layers."
        )
    return list(lists[0])


def states_at(
    model: "PreTrainedModel", layers: Sequence[int], places: torch.Tensor, run: Callable[[], torch.Tensor]
) -> torch.Tensor:
    """Return the hidden states of some layers, at some places of a forward pass.

    Args:
        layers: numbers in [0, layer count], ascending; the pass ends at the last of them.
        places: places in the flattened (rows × tokens), shape (places,), on the model's device.
        run: one pass through the model's layers; returns its last hidden states, shape (rows, tokens, size).

    Returns:
        fp32, on the model's device, shape (places, layers, size).
    """
    count, modules = layer_count(model), find_layers(model)
    read: dict[int, torch.Tensor] = {}

    def keep(layer: int, states: torch.Tensor) -> None:
        read[layer] = _rows(states, places)
        if layer == layers[-1]:
            raise _EnoughError

    def before(_: Any, positional: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        keep(0, positional[0] if positional else keywords["hidden_states"])

    def after(layer: int, _: Any, __: Any, output: Any) -> None:
        keep(layer, output[0] if isinstance(output, tuple) else output)

    handles = []
    for layer in layers:
        if layer == 0:
            handles.append(modules[0].register_forward_pre_hook(before, with_kwargs=True))
        elif layer < count:
            handles.append(modules[layer - 1].register_forward_hook(partial(after, layer)))
    try:
        read[count] = _rows(run(), places)
    except _EnoughError:
        pass
    finally:
        for handle in handles:
            handle.remove()
    # Each layer of a spread model is on its own device.
    return torch.stack([read[layer].to(places.device) for layer in layers], dim=1)


def _rows(states: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return states.flatten(0, 1)[places.to(states.device)].float()
