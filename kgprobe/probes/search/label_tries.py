"""Label tries: the names of many entities as token sequences, in memory-mapped files.

A trie contains the names of all members of a type, or of all objects of a relation, in the form that fills a template's
blank (:mod:`kgprobe.verbalize.sentences`). It is built when first needed, a million names in some 20 seconds, cached in
the user's folder, and rebuilt when stale. Templates that use the same form share a trie.

The sequences (labels) are stored sorted, each with the number of tokens shared with the previous one. So a prefix is a
range of labels, and its continuations begin where the shared length equals that of the prefix. No nodes are stored, and
a label takes about 40 bytes. Labels and entities are linked in both directions, because plausibility is a sum over an
entity's names.

As in :mod:`kgprobe.models.scoring.tokens`, prompt and name are joined as running text, and the tokens added to the
prompt's own belong to the name. Nearly every tokenizer splits at spaces, so a name has the same tokens after every
prompt. They are computed after an anchor prompt; :func:`agrees` checks another prompt.
"""

import hashlib
import inspect
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import filelock
import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home, make_folder, replacing
from kgprobe.base.progress import waiting
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state, state_uid
from kgprobe.models.scoring import tokens as token_module
from kgprobe.models.scoring.tokens import encode, join, tokenize
from kgprobe.sampling.lists import places_among
from kgprobe.verbalize import articles, name_forms, sentences
from kgprobe.verbalize.sentences import Cloze

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Integers = NDArray[np.int64]

# Text before the names when tokens are computed, by the language's joiner of prompt and name.
_ANCHORS = {" ": "a", "": "是"}

FORMAT = 1
_MAGIC = b"kgprobe trie\n\0\0\0"
# Continuations of prefixes with at least so many labels are cached, because all facts of a type share them.
_LARGE = 4096
_CACHED = 4096


class Continuations(NamedTuple):
    """Continuations of prefixes in one trie.

    Attributes:
        source: index of the prefix, from 0, shape (children,), non-decreasing.
        token: next token, shape (children,).
        low, high: range of the labels that continue with it, shape (children,).
        ended: for each label that ends, the index of the prefix that it equals, shape (ended,).
        label: that label, shape (ended,).
    """

    source: Integers
    token: Integers
    low: Integers
    high: Integers
    ended: Integers
    label: Integers


class _Header(msgspec.Struct):
    """Header before the arrays; ``places`` contains dtype, length and offset of each."""

    key: str
    samples: list[str]
    left_out: list[tuple[int, str]]
    crossing: int
    size: int = 0
    places: dict[str, tuple[str, int, int]] = msgspec.field(default_factory=dict)


class LabelTrie:
    """A trie in a file. Labels and entities have places, 0 to N - 1; entities also have the numbers of the graph.

    Attributes:
        key: identification given to :func:`build_label_trie`.
        entities: numbers of the entities in the graph, increasing, shape (entities,).
        owners: place of each label's entity, shape (labels,).
        longest: number of tokens of the longest label; 0 without labels.
        most_names: largest number of labels of an entity; 0 without labels.
        left_out: numbers of excluded entities, each with a name that tokenizes to nothing.
        samples: names to check a prompt, each with a different first character.
        crossing: number of labels whose first token reaches into the anchor prompt; if positive, tokens depend on the
            prompt.
    """

    def __init__(self, path: Path) -> None:
        """Map a file into memory; raise OSError or ValueError if it is missing, damaged or of another version."""
        try:
            header = _read_header(path)
        except msgspec.DecodeError as error:
            raise ValueError(f"{path} is a damaged trie: {error}.") from error
        raw = np.memmap(path, dtype=np.uint8, mode="r")
        if len(raw) != header.size:
            raise ValueError(f"{path} is a damaged trie: it has {len(raw)} bytes where {header.size} are expected.")
        arrays: dict[str, Any] = {}
        for name, (kind, count, offset) in header.places.items():
            arrays[name] = raw[offset : offset + count * np.dtype(kind).itemsize].view(kind)
        self.key = header.key
        self.left_out = header.left_out
        self.crossing = header.crossing
        self.samples = header.samples
        self.entities: NDArray[np.uint32] = arrays["entities"]
        self.owners: NDArray[np.uint32] = arrays["owners"]
        self._tokens: NDArray[np.int32] = arrays["tokens"]
        self._starts: NDArray[np.uint32] = arrays["starts"]
        self._common: NDArray[np.uint16] = arrays["common"]
        self._firsts: NDArray[np.uint32] = arrays["firsts"]
        self._labels: NDArray[np.uint32] = arrays["labels"]
        self._repeaters: NDArray[np.uint32] = arrays["repeaters"]
        # One more for position -1: other entities have no repeated name.
        self._repeats: Integers = np.append(arrays["repeats"].astype(np.int64), 1)
        self.longest = int(np.diff(self._starts).max(initial=0))
        self.most_names = int(np.diff(self._firsts).max(initial=0))
        self._cache: dict[tuple[int, int, int], Continuations] = {}

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def lengths(self) -> Integers:
        """Number of tokens of each label, shape (labels,)."""
        return np.diff(self._starts).astype(np.int64)

    def sequence(self, label: int) -> tuple[int, ...]:
        """Return the tokens of a label."""
        return tuple(self._tokens[self._starts[label] : self._starts[label + 1]].tolist())

    def labels_of(self, places: Integers) -> tuple[Integers, Integers]:
        """Return the labels of the entities at these places: indices into ``places``, non-decreasing, and labels."""
        owner, within = ranges(self._firsts[places].astype(np.int64), self.names(places))
        return owner, self._labels[within].astype(np.int64)

    def owner_numbers(self, labels: Integers) -> Integers:
        """Return the number of each label's entity, shape (labels,)."""
        return self.entities[self.owners[labels]].astype(np.int64)

    def names(self, places: Integers) -> Integers:
        """Return the number of labels of each of these entities, shape (entities,)."""
        return self._firsts[places + 1].astype(np.int64) - self._firsts[places].astype(np.int64)

    def repeats(self, places: Integers) -> Integers:
        """Return the largest number of names of the same tokens of each entity, nearly always 1; shape (entities,)."""
        return self._repeats[places_among(self._repeaters, places)]

    def find(self, numbers: Integers) -> Integers:
        """Return the places of the entities with these numbers, -1 if not in the trie; shape (numbers,)."""
        return places_among(self.entities, numbers)

    def follow(self, low: Integers, high: Integers, depth: Integers) -> Continuations:
        """Return the continuations of prefixes.

        Args:
            low, high: ranges of labels, possibly empty, shape (prefixes,).
            depth: numbers of tokens, shape (prefixes,).

        Cost: one look-up per label of the ranges; large ranges are cached.
        """
        large = high - low >= _LARGE
        if not large.any():
            return self._follow(low, high, depth)
        small = np.flatnonzero(~large)
        parts = [(small, self._follow(low[small], high[small], depth[small]))]
        for place in np.flatnonzero(large):
            key = (int(low[place]), int(high[place]), int(depth[place]))
            cached = self._cache.get(key)
            if cached is None:
                if len(self._cache) >= _CACHED:
                    self._cache.clear()
                cached = self._cache[key] = self._follow(low[[place]], high[[place]], depth[[place]])
            parts.append((np.array([place]), cached))
        mapped = [part._replace(source=places[part.source], ended=places[part.ended]) for places, part in parts]
        joined = Continuations(*map(np.concatenate, zip(*mapped, strict=True)))
        by_source, by_ended = np.argsort(joined.source, kind="stable"), np.argsort(joined.ended, kind="stable")
        columns = [column[by_source] for column in joined[:4]]
        columns += [column[by_ended] for column in joined[4:]]
        return Continuations(*columns)

    def _follow(self, low: Integers, high: Integers, depth: Integers) -> Continuations:
        owner, labels = ranges(low, high - low)
        # All labels of a prefix share its tokens; a label that shares no more with the previous one begins a child.
        fresh = self._common[labels] == depth[owner]
        if len(labels):
            fresh |= np.diff(owner, prepend=-1) > 0
        source, labels = owner[fresh], labels[fresh]
        starts = self._starts[labels].astype(np.int64)
        ends = starts + depth[source] == self._starts[labels + 1]
        after = high[source]
        if len(labels):
            inner = np.flatnonzero(source[:-1] == source[1:])
            after[inner] = labels[inner + 1]
        on = ~ends
        tokens = self._tokens[starts[on] + depth[source[on]]].astype(np.int64)
        return Continuations(source[on], tokens, labels[on], after[on], source[ends], labels[ends])


def _read_header(path: Path) -> _Header:
    with open(path, "rb") as file:
        start = file.read(len(_MAGIC) + 8)
        numbers = np.frombuffer(start[len(_MAGIC) :], dtype=np.uint32)
        if not start.startswith(_MAGIC) or len(numbers) != 2 or numbers[0] != FORMAT:
            raise ValueError(f"{path} is not a trie of version {FORMAT}.")
        return msgspec.json.decode(file.read(int(numbers[1])), type=_Header)


def ranges(begins: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Concatenate ranges of integers: return the index of the range and the integer, both of shape (sum of counts,)."""
    owner = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) + (begins - before)[owner]


def _write_label_trie(path: Path, header: _Header, arrays: dict[str, NDArray[Any]]) -> None:
    """Write a trie to a file atomically; the size and the places of the header are filled in."""
    # The header contains the offsets of the arrays, which depend on its length: reserve space for it.
    header.places = {name: (array.dtype.str, len(array), 0) for name, array in arrays.items()}
    offset = len(_MAGIC) + 8 + 4096 + len(msgspec.json.encode(header))
    for name, array in arrays.items():
        offset += -offset % 64
        header.places[name] = (array.dtype.str, len(array), offset)
        offset += array.nbytes
    header.size = offset
    encoded = msgspec.json.encode(header)
    with replacing(path) as unfinished, open(unfinished, "wb") as file:
        file.write(_MAGIC + np.array([FORMAT, len(encoded)], dtype=np.uint32).tobytes() + encoded)
        for name, array in arrays.items():
            file.seek(header.places[name][2])
            file.write(array.tobytes())
        file.truncate(offset)


def name_tokens(
    tokenizer: "PreTrainedTokenizerBase", names: Sequence[str], joiner: str = " "
) -> tuple[NDArray[np.int32], Integers, int]:
    """Return the tokens of names after the anchor prompt.

    Args:
        tokenizer: the model's tokenizer; its special tokens, truncation and padding are switched off.
        joiner: text between a prompt and a name.

    Returns:
        The concatenated tokens of all names; the number of tokens of each name, shape (names,); and the number of names
        whose first token reaches into the prompt, so that it depends on the prompt.
    """
    anchor = encode(tokenizer, [_ANCHORS[joiner]])[0]
    encoded = encode(tokenizer, [join(_ANCHORS[joiner], joiner, text) for text in names])
    counts = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    flat = np.fromiter(chain.from_iterable(encoded), dtype=np.int32, count=int(counts.sum()))
    starts = np.cumsum(counts) - counts
    shared = np.zeros(len(counts), dtype=np.int64)
    for place, token in enumerate(anchor):
        # Texts that are shorter than the anchor are masked by counts.
        same = (shared == place) & (counts > place)
        same[same] = flat[starts[same] + place] == token
        shared += same
    within = np.arange(len(flat)) - np.repeat(starts, counts)
    return flat[within >= np.repeat(shared, counts)], counts - shared, int((shared < len(anchor)).sum())


def agrees(tokenizer: "PreTrainedTokenizerBase", prompt: str, names: Sequence[str], joiner: str = " ") -> bool:
    """Return True if names have the same tokens after this prompt as after the anchor prompt."""
    # The leading token represents BOS, so that the prompt may be empty.
    (behind,) = tokenize(tokenizer, [prompt], [names], separator=joiner, leading=(0,))
    flat, lengths, crossing = name_tokens(tokenizer, names, joiner)
    expected = np.split(flat, np.cumsum(lengths)[:-1])
    return (
        crossing == 0
        and not behind.reasons
        and all(start == len(behind.context) for start in behind.starts)
        and all(tail == tuple(own.tolist()) for tail, own in zip(behind.tails, expected, strict=True))
    )


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
    path: Path,
    key: str,
    tokenizer: "PreTrainedTokenizerBase",
    names: Iterable[tuple[int, Sequence[str]]],
    joiner: str = " ",
) -> None:
    """Write a trie of names to a file atomically.

    Cost: tokenizing the names; at most some 200 bytes of memory per name, none for their texts.

    Args:
        tokenizer: the model's tokenizer; its special tokens, truncation and padding are switched off.
        names: number of each entity, with its names in the form that follows a prompt.
        joiner: text between a prompt and a name.
    """
    flat: list[NDArray[np.int32]] = []
    counts: list[Integers] = []
    numbers: list[Integers] = []
    samples: dict[str, str] = {}
    left_out: dict[int, str] = {}
    crossing = 0
    for entities, texts, (tokens, lengths, crosses) in _tokenized(tokenizer, names, joiner):
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
    _write_label_trie(path, _Header(key, kept, sorted(left_out.items()), crossing), arrays)


def _tokenized(
    tokenizer: "PreTrainedTokenizerBase", names: Iterable[tuple[int, Sequence[str]]], joiner: str
) -> Iterator[tuple[Integers, list[str], tuple[NDArray[np.int32], Integers, int]]]:
    """Yield chunks of names with entity numbers and tokens; one chunk is tokenized while the next is read."""
    with ThreadPoolExecutor(1) as worker:
        waiting: deque[tuple[Integers, list[str], Future[tuple[NDArray[np.int32], Integers, int]]]] = deque()
        for entities, texts in _chunks(names):
            waiting.append((entities, texts, worker.submit(name_tokens, tokenizer, texts, joiner)))
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
    """Return the arrays of a trie from labels in any order, without the entities that are left out.

    ``tokens`` are those of all labels, one after the other; ``lengths`` and ``numbers`` (of entities) have the shape
    (labels,).
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

    ``same`` is True for a label with the tokens and the owner of the previous one.
    """
    run = np.cumsum(~same)
    lengths = np.bincount(run)[run]
    among = owners[same]
    repeaters = np.unique(among)
    repeats = np.ones(len(repeaters), dtype=np.int64)
    np.maximum.at(repeats, np.searchsorted(repeaters, among), lengths[same])
    return repeaters, repeats


# Templates use the same form of all names if they do so for these.
_TYPICAL = (
    *("France", "Netherlands", "The Hague", "the Danube", "euro", " A Coruña "),
    *("Schweiz", "Niederlande", "Japon", "Allemagne", "États-Unis", "el Reino Unido", "Le Caire"),
)


class NameSet(NamedTuple):
    """Entities of one trie: the members of a type, or the objects of a relation, by its id."""

    kind: Literal["members", "objects"]
    id: str


class LabelTries:
    """Tries of one graph for one tokenizer; opened tries stay open."""

    def __init__(self, graph: Graph, tokenizer: "PreTrainedTokenizerBase") -> None:
        self._graph = graph
        self._tokenizer = tokenizer
        self._digest = _digest(tokenizer)
        self._state = ""
        self._open: dict[tuple[NameSet, str, tuple[str, ...]], LabelTrie] = {}

    def refresh(self) -> None:
        """Close the tries if the graph has changed."""
        state = graph_state(self._graph)
        if state != self._state:
            self._open.clear()
            self._state = state

    def open(self, names: NameSet, cloze: Cloze) -> LabelTrie:
        """Return the trie of these entities' names in the form that fills the cloze's blank; see :meth:`refresh`.

        Cost: none if open; some milliseconds if cached; building it reads and tokenizes all names.
        """
        key = (names, cloze.language.joiner, tuple(cloze.continuations(_TYPICAL)))
        trie = self._open.get(key)
        if trie is None:
            trie = self._open[key] = self._cached(names, key[2], cloze)
        return trie

    def _cached(self, names: NameSet, forms: tuple[str, ...], cloze: Cloze) -> LabelTrie:
        way = (self._graph.language, cloze.language.joiner, forms)
        source = {"graph": self._state, "tokenizer": self._digest, "names": names, "way": way}
        key = msgspec.json.encode(source, order="sorted").decode()
        # The file name lacks the state of the graph, so that a new trie replaces the stale one.
        name = msgspec.json.encode(source | {"graph": state_uid(self._state)}, order="sorted")
        folder = home() / "tries"
        make_folder(folder)
        path = folder / f"{hashlib.sha256(name).hexdigest()[:32]}.trie"
        try:
            with filelock.FileLock(path.with_suffix(".lock")):
                trie = _opened(path, key)
                if trie is None:
                    with waiting(f"Reading the names of {names.kind} of {names.id}"):
                        build_label_trie(path, key, self._tokenizer, self._texts(names, cloze), cloze.language.joiner)
                    trie = LabelTrie(path)
        except OSError as error:
            raise KgprobeError(
                f"The names of {names.id} cannot be cached in {folder}: {error.strerror}. Set KGPROBE_HOME to another"
                " folder."
            ) from error
        return trie

    def _texts(self, names: NameSet, cloze: Cloze) -> Iterator[tuple[int, list[str]]]:
        query = "sample/member_names" if names.kind == "members" else "sample/object_names"
        for row in self._graph.stream(query, id=names.id):
            yield row["number"], cloze.continuations(row["names"])


def _opened(path: Path, key: str) -> LabelTrie | None:
    if path.is_dir():
        shutil.rmtree(path)
    try:
        trie = LabelTrie(path)
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None
    return trie if trie.key == key else None


def _digest(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Return a digest of everything that determines the tokens of names: the tokenizer and the code around it."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        text = f"{type(tokenizer).__name__} {sorted(tokenizer.get_vocab().items())}"
    else:
        text = backend.to_str()
    digest = hashlib.sha256(f"{FORMAT} {text}".encode())
    for module in (token_module, articles, name_forms, sentences):
        digest.update(Path(str(module.__file__)).read_bytes())
    digest.update(inspect.getsource(name_tokens).encode())
    return digest.hexdigest()
