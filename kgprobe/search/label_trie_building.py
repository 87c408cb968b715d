"""Builder of label tries: tokenizes names, sorts the token sequences and writes them, a million in some 20 seconds."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.search.label_trie import Integers, ranges, write_label_trie
from kgprobe.search.name_tokens import name_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Names tokenized at once: enough to keep all cores busy.
_CHUNK = 20_000
# Names used to check a prompt, each with a different first character.
_SAMPLES = 256
_ARRAYS = {
    "tokens": np.int32,
    "starts": np.uint32,
    "common": np.uint16,
    "owners": np.uint32,
    "entities": np.uint32,
    "firsts": np.uint32,
    "labels": np.uint32,
    "repeaters": np.uint32,
    "repeats": np.uint32,
}


def build_label_trie(
    path: Path, key: str, tokenizer: "PreTrainedTokenizerBase", names: Iterable[tuple[int, Sequence[str]]]
) -> None:
    """Write a trie of names to a file atomically.

    Cost: tokenizing the names; at most some 200 bytes of memory per name, none for their texts.

    Args:
        path: file in an existing folder.
        key: identification, stored in the file.
        tokenizer: the model's tokenizer; its special tokens, truncation and padding are switched off.
        names: number of each entity, with its names in the form that follows a prompt.
    """
    flat: list[NDArray[np.int32]] = []
    counts: list[Integers] = []
    numbers: list[Integers] = []
    samples: dict[str, str] = {}
    left_out: dict[int, str] = {}
    crossing = 0
    for entities, texts, (tokens, lengths, crosses) in _tokenized(tokenizer, names):
        empty = np.flatnonzero(lengths == 0).tolist()
        left_out |= {int(entities[place]): texts[place] for place in empty}
        samples = {text[0]: text for text in texts} | samples
        for place in empty:
            samples.pop(texts[place][0], None)
        crossing += crosses
        flat.append(tokens)
        counts.append(lengths)
        numbers.append(entities)
    arrays = _arrays(
        np.concatenate([*flat, np.empty(0, dtype=np.int32)]),
        np.concatenate([*counts, np.empty(0, dtype=np.int64)]),
        np.concatenate([*numbers, np.empty(0, dtype=np.int64)]),
        np.array(sorted(left_out), dtype=np.int64),
    )
    kept = [samples[first] for first in sorted(samples)][:: 1 + len(samples) // _SAMPLES]
    write_label_trie(path, key, arrays, kept, sorted(left_out.items()), crossing)


def _tokenized(
    tokenizer: "PreTrainedTokenizerBase", names: Iterable[tuple[int, Sequence[str]]]
) -> Iterator[tuple[Integers, list[str], tuple[NDArray[np.int32], Integers, int]]]:
    """Yield chunks of names with entity numbers and tokens; one chunk is tokenized while the next is read."""
    with ThreadPoolExecutor(1) as worker:
        waiting: deque[tuple[Integers, list[str], Future[tuple[NDArray[np.int32], Integers, int]]]] = deque()
        for entities, texts in _chunks(names):
            waiting.append((entities, texts, worker.submit(name_tokens, tokenizer, texts)))
            if len(waiting) == 2:
                entities, texts, tokens = waiting.popleft()
                yield entities, texts, tokens.result()
        for entities, texts, tokens in waiting:
            yield entities, texts, tokens.result()


def _chunks(names: Iterable[tuple[int, Sequence[str]]]) -> Iterator[tuple[Integers, list[str]]]:
    numbers: list[int] = []
    counts: list[int] = []
    texts: list[str] = []
    for number, entity_names in names:
        numbers.append(number)
        counts.append(len(entity_names))
        texts += entity_names
        if len(texts) >= _CHUNK:
            yield np.repeat(np.array(numbers, dtype=np.int64), counts), texts
            numbers, counts, texts = [], [], []
    if texts:
        yield np.repeat(np.array(numbers, dtype=np.int64), counts), texts


def _arrays(
    tokens: NDArray[np.int32], lengths: Integers, numbers: Integers, left_out: Integers
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a trie from labels in any order.

    Args:
        tokens: concatenated tokens of all labels.
        lengths: number of tokens of each label, shape (labels,).
        numbers: entity number of each label, shape (labels,).
        left_out: numbers of the entities to be excluded with all their labels.
    """
    starts = np.cumsum(lengths) - lengths
    if len(left_out):
        kept = ~np.isin(numbers, left_out)
        starts, lengths, numbers = starts[kept], lengths[kept], numbers[kept]
    order, common = sort_sequences(tokens, starts, lengths)
    entities, owners = np.unique(numbers, return_inverse=True)
    owners, lengths = owners[order], lengths[order]
    sorted_starts = np.concatenate([[0], np.cumsum(lengths)])
    sorted_tokens = np.empty(sorted_starts[-1], dtype=np.int32)
    for first in range(0, len(order), _CHUNK):
        some = order[first : first + _CHUNK]
        _, places = ranges(starts[some], lengths[first : first + _CHUNK])
        begin = sorted_starts[first]
        sorted_tokens[begin : begin + len(places)] = tokens[places]
    same = np.zeros(len(order), dtype=bool)
    same[1:] = (common[1:] == lengths[1:]) & (lengths[1:] == lengths[:-1]) & (owners[1:] == owners[:-1])
    repeaters, repeats = _repeats(owners, same)
    arrays = {
        "tokens": sorted_tokens,
        "starts": sorted_starts,
        "common": common,
        "owners": owners,
        "entities": entities,
        "firsts": np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(entities)))]),
        "labels": np.argsort(owners, kind="stable"),
        "repeaters": repeaters,
        "repeats": repeats,
    }
    return {name: arrays[name].astype(kind) for name, kind in _ARRAYS.items()}


def sort_sequences(tokens: NDArray[np.int32], starts: Integers, lengths: Integers) -> tuple[Integers, Integers]:
    """Sort token sequences lexicographically, prefixes first, equal sequences in their order.

    Args:
        tokens: all tokens, in [0, 2^31).
        starts, lengths: slice of each sequence, shape (sequences,).

    Returns:
        The order, and for each sequence in that order the number of tokens shared with the previous one, 0 for the
        first. Both of shape (sequences,).
    """
    order = np.arange(len(starts))
    common = np.zeros(len(starts), dtype=np.int64)
    # Unsettled places of the order, and groups of those that share all tokens so far.
    places, group = order.copy(), np.zeros(len(order), dtype=np.int64)
    width = int(tokens.max(initial=0)) + 2
    depth = 0
    while len(places):
        rows = order[places]
        ended = lengths[rows] == depth
        key = group * width
        key[~ended] += tokens[starts[rows[~ended]] + depth].astype(np.int64) + 1
        rank = np.argsort(key, kind="stable")
        rows, key, ended = rows[rank], key[rank], ended[rank]
        order[places] = rows
        fresh = np.ones(len(key), dtype=bool)
        fresh[1:] = key[1:] != key[:-1]
        first = np.ones(len(key), dtype=bool)
        first[1:] = group[1:] != group[:-1]
        common[places[(fresh | ended) & ~first]] = depth
        group = np.cumsum(fresh) - 1
        unsettled = ~ended & (np.bincount(group)[group] > 1)
        places, group = places[unsettled], group[unsettled]
        depth += 1
    return order, common


def _repeats(owners: Integers, same: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Return the entities with several names of the same tokens, increasing, and the largest number of such names.

    Args:
        owners: entity of each label.
        same: True for a label with the tokens and the entity of the previous one.
    """
    run = np.cumsum(~same)
    lengths = np.bincount(run)[run]
    among = owners[same]
    repeaters = np.unique(among)
    repeats = np.ones(len(repeaters), dtype=np.int64)
    np.maximum.at(repeats, np.searchsorted(repeaters, among), lengths[same])
    return repeaters, repeats
