"""Batch plan: trees that share a prefix, and trees that share a row.

Two techniques save common leading tokens of trees. A prefix, whose keys and values are computed once, precedes any
number of batches, and prefixes can follow prefixes; but it costs a forward pass of its own, and batches that are not
full. In one row the common tokens cost nothing more; but every token attends to all others of the row, mostly in vain.
Both costs are compared in tokens: the number of tokens that a model computes at the same cost.

Batches are prepared in a thread while the device computes the batch before. It only prepares: batches are formed
by the caller's thread, in order, the next one before the current one is computed. If the limit has changed in the
meantime, because memory was short or there is more of it, the next batch is formed again. So batches do not depend on
the speed of either side.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from kgprobe.models.scoring.forward import LONGEST_ROW, ScoringMethod, padded_tokens
from kgprobe.models.scoring.trie import Forest, Integers, Tree, merge, shared_chain

T = TypeVar("T")
Item = TypeVar("Item")
Prepared = TypeVar("Prepared")

# Cost of a forward pass in tokens: the weights are read, the batch before is cut short.
_PASS = 128
# A shorter prefix is not worth its memory.
_SHORTEST = 16
# About this many tokens per row, where trees are small.
_ROW = 256


@dataclass(frozen=True, slots=True)
class PrefixGroup:
    """Forests after a common prefix.

    Attributes:
        tokens: the prefix's tokens beyond the prefix of the surrounding group; none for the outermost group.
        kept: True if later calls need the prefix again.
        forests: the forests directly after it, the largest first.
    """

    tokens: Integers
    length: int
    kept: bool = False
    forests: list[Forest] = field(default_factory=list)
    groups: list["PrefixGroup"] = field(default_factory=list)

    def in_order(self, depth: int = 0) -> list[tuple["PrefixGroup", int]]:
        """Return this group and all within it, each before its own, with the number of groups around each."""
        groups = [(self, depth)]
        for inner in self.groups:
            groups += inner.in_order(depth + 1)
        return groups


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Neighbours in the order of contexts that share this many tokens, from the first to before the last."""

    length: int
    first: int
    last: int
    inner: list["_Stretch"]


def plan(
    trees: Sequence[Tree],
    method: ScoringMethod,
    hidden_size: int,
    most: int,
    beginnings: Mapping[int, int] | None = None,
) -> PrefixGroup:
    """Return the trees as forests, after prefixes where that saves time.

    Args:
        hidden_size: the model's; the larger, the smaller the share of attention in the cost.
        most: maximum tokens in a row of several trees.
        beginnings: for some prompts the number of leading tokens that later calls share. They become a prefix in any
            case, up to the first token with a requested prediction.
    """
    outermost = PrefixGroup(np.empty(0, dtype=np.int64), 0)
    if method == "rows":
        outermost.forests.extend(_forests(trees, method, 0, hidden_size, most))
        return outermost
    by_prefix: dict[bytes, list[Tree]] = {}
    for tree in trees:
        length = min((beginnings or {}).get(tree.prompt, 0), tree.chain - 1)
        by_prefix.setdefault(tree.tokens[: length if length >= _SHORTEST else 0].tobytes(), []).append(tree)
    for prefix, members in by_prefix.items():
        tokens = np.frombuffer(prefix, dtype=np.int64).copy()
        group = PrefixGroup(tokens, len(tokens), kept=True) if len(tokens) else outermost
        if group is not outermost:
            outermost.groups.append(group)
        _plan_after(group, members, method, hidden_size, most)
    return outermost


def _plan_after(
    outermost: PrefixGroup, trees: Sequence[Tree], method: ScoringMethod, hidden_size: int, most: int
) -> None:
    """Sort trees that begin with a group's prefix into it, and into groups of longer ones."""
    # Tokens compare fastest as bytes.
    trees = sorted(trees, key=lambda tree: tree.tokens[: tree.chain].astype(">i8").tobytes())
    rows = np.cumsum([0, *(_copies_of_context(tree, method) for tree in trees)])
    own: list[tuple[PrefixGroup, list[Tree]]] = [(outermost, [])]
    open_stretches = [(_stretches(trees), 0)]
    while open_stretches:
        stretch, place = open_stretches.pop()
        group = own[place][0]
        saved = stretch.length - group.length
        count = int(rows[stretch.last] - rows[stretch.first])
        if method == "packed":
            count = min(stretch.last - stretch.first, -(-count // _ROW))
        # Long prefixes are computed in pieces, because a mask grows with the square of its length.
        if saved > LONGEST_ROW or (saved >= _SHORTEST and (count - 1) * saved > _PASS):
            first = trees[stretch.first]
            inner = PrefixGroup(first.tokens[group.length : stretch.length], stretch.length)
            group.groups.append(inner)
            place = len(own)
            own.append((inner, []))
        if stretch.inner:
            open_stretches += ((part, place) for part in reversed(stretch.inner))
        else:
            own[place][1].extend(trees[stretch.first : stretch.last])
    for group, members in own:
        group.forests.extend(_forests(members, method, group.length, hidden_size, most))


def _copies_of_context(tree: Tree, method: ScoringMethod) -> int:
    """Return how often a method computes a tree's context without a prefix; for ``packed`` the tree's nodes."""
    # In ``steps``, a prefix costs nothing: its turn becomes a pass of its own. The rows after it share its states.
    return len(tree.tokens) if method == "packed" else len(tree.leaves())


def batches(items: Sequence[T], sizes: Sequence[tuple[int, int]], limit: Callable[[], int]) -> Iterator[list[T]]:
    """Yield items of similar size in batches that are about equally full.

    Args:
        items: the largest first.
        sizes: for each its rows and its tokens per row.
        limit: returns the maximum padded tokens in a batch of several items; called before each.
    """
    filling = Filling(sizes)
    begin = 0
    while begin < len(items):
        end = filling.end(begin, limit())
        yield list(items[begin:end])
        begin = end


class Filling:
    """The sizes of items, the largest first, of which batches are filled one after the other."""

    def __init__(self, sizes: Sequence[tuple[int, int]]) -> None:
        """Take for each item its rows and its tokens per row."""
        self._sizes = sizes
        self._left = np.cumsum([0, *(rows * tokens for rows, tokens in reversed(sizes))])[::-1]

    def end(self, begin: int, most: int) -> int:
        """Return the end of the batch that begins with an item, at most so many padded tokens or one item."""
        # If each batch was full, the last could be almost empty.
        fair = self._left[begin] / -(-int(self._left[begin]) // most)
        end, rows, longest = begin, 0, 0
        while end < len(self._sizes):
            more, tokens = self._sizes[end]
            padded = (rows + more) * max(longest, tokens)
            if end > begin and (padded > most or rows * longest >= fair):
                break
            end, rows, longest = end + 1, rows + more, max(longest, tokens)
        return end


def _stretches(trees: Sequence[Tree]) -> _Stretch:
    """Return all stretches of trees in the order of their contexts, nested; a single tree is a stretch, too.

    A stretch's tokens end before the first one that predicts anything.
    """
    stretches: list[_Stretch] = [_Stretch(0, 0, len(trees), [])]
    for place, tree in enumerate(trees):
        stretch = _Stretch(tree.chain - 1, place, place + 1, [])
        after = 0
        if place + 1 < len(trees):
            following = trees[place + 1]
            after = min(shared_chain(tree, following), tree.chain - 1, following.chain - 1)
        while stretches[-1].length > after:
            closed = stretches.pop()
            closed.inner.append(stretch)
            stretch = _Stretch(closed.length, closed.first, place + 1, closed.inner)
        if stretches[-1].length < after:
            stretches.append(_Stretch(after, stretch.first, place + 1, []))
        stretches[-1].inner.append(stretch)
    return stretches[0]


def _forests(trees: Sequence[Tree], method: ScoringMethod, prefix: int, hidden_size: int, most: int) -> list[Forest]:
    """Return trees in the order of their contexts as forests, the largest first."""
    rows: list[list[Tree]] = []
    sizes: list[int] = []
    nodes = 0
    for tree in trees:
        size = len(tree.tokens) - prefix
        if method == "packed" and rows:
            shared = shared_chain(rows[-1][-1], tree) - prefix
            # Per layer, attention costs 4 operations per pair of tokens and dimension, the rest about 24 per token and
            # squared dimension.
            lost = 2 * nodes * (size - shared) / (6 * hidden_size)
            if shared > lost and nodes + size - shared <= min(LONGEST_ROW, most):
                rows[-1].append(tree)
                sizes[-1] = nodes = nodes + size - shared
                continue
        rows.append([tree])
        sizes.append(nodes := size)
    forests = [merge(row, prefix) for row in (fill_rows(rows, sizes, most) if method == "packed" else rows)]
    return sorted(forests, key=lambda forest: padded_tokens(forest, method, prefix)[::-1], reverse=True)


def fill_rows(rows: Sequence[list[T]], sizes: Sequence[int], most: int) -> list[list[T]]:
    """Join rows to rows of similar size, even without common tokens: padding would cost more than their attention.

    Args:
        most: maximum tokens in a row; a longer row stays alone.
    """
    order = sorted(range(len(rows)), key=lambda row: -sizes[row])
    filled = []
    first, last = 0, len(order) - 1
    while first <= last:
        items, size = list(rows[order[first]]), sizes[order[first]]
        first += 1
        while first <= last and size + sizes[order[last]] <= min(_ROW, most):
            items += rows[order[last]]
            size += sizes[order[last]]
            last -= 1
        filled.append(items)
    return filled


@dataclass(frozen=True, slots=True)
class Stage(Generic[Item]):
    """Items that are computed together, in batches: the largest first, each with its rows and tokens per row."""

    items: Sequence[Item]
    sizes: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Formed:
    """A batch: the stage's number, the places of its items there, and the limit by which they were chosen."""

    stage: int
    begin: int
    end: int
    limit: int


def batches_ahead(
    stages: Sequence[Stage[Item]], prepare: Callable[[Sequence[Item]], Prepared], limit: Callable[[], int]
) -> Generator[tuple[int, Sequence[Item], Prepared]]:
    """Yield the items of stages in batches, with what is prepared for each; the next batch is prepared meanwhile.

    The batches are those of :func:`.plan.batches` for each stage, one stage after the other. The thread has ended when
    the iterator ends: after the last batch, after an error, and when it is closed.

    Args:
        prepare: called for every batch, in another thread for all but the first. Its error is raised when its batch is
            due.
        limit: returns the maximum padded tokens in a batch of several items.
    """
    fillings = [Filling(stage.sizes) for stage in stages]

    def form(stage: int, begin: int) -> _Formed | None:
        while stage < len(stages) and begin == len(stages[stage].items):
            stage, begin = stage + 1, 0
        if stage == len(stages):
            return None
        most = limit()
        return _Formed(stage, begin, fillings[stage].end(begin, most), most)

    def items_of(batch: _Formed) -> Sequence[Item]:
        return stages[batch.stage].items[batch.begin : batch.end]

    with ThreadPoolExecutor(1, thread_name_prefix="kgprobe-ahead") as pool:
        batch = form(0, 0)
        waiting: Future[Prepared] | None = None
        while batch is not None:
            prepared = prepare(items_of(batch)) if waiting is None else waiting.result()
            following = form(batch.stage, batch.end)
            waiting = None if following is None else pool.submit(prepare, items_of(following))
            yield batch.stage, items_of(batch), prepared
            if following is not None and limit() != following.limit:
                following, waiting = form(batch.stage, batch.end), None
            batch = following
