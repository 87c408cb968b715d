"""What is computed together: which trees share a prefix, and which stand in one row.

Two ways save the tokens that trees begin with in common. Behind a prefix, whose keys and values are computed once, any
number of batches can follow, and prefixes can follow prefixes; but it costs a forward pass of its own, and batches that
are not full. In one row the common tokens cost nothing more; but every token of a row attends to all others there,
most of them for nothing. Both are weighed in tokens: how many a model could take in at the price.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from kgprobe.models.scoring.forward import LONGEST_ROW, Way, padded_tokens
from kgprobe.models.scoring.trie import Forest, Integers, Tree, merge, shared_chain

T = TypeVar("T")

# A forward pass costs about as much as so many tokens more: the weights are read, the batch before is cut short.
_PASS = 128
# Shorter than this, a prefix is not worth its place in memory.
_SHORTEST = 16
# Tokens in a row are about so many, where trees are small.
_ROW = 256


@dataclass(frozen=True, slots=True)
class Group:
    """Forests behind a common prefix.

    Attributes:
        tokens: what the prefix has beyond that of the group around it; none for the outermost group.
        length: of the whole prefix.
        kept: whether it will be met again, in later calls.
        forests: what is computed right behind it, the largest first.
        groups: with longer prefixes.
    """

    tokens: Integers
    length: int
    kept: bool = False
    forests: list[Forest] = field(default_factory=list)
    groups: list["Group"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Neighbours in the order of contexts that share so many tokens, from the first to before the last."""

    length: int
    first: int
    last: int
    inner: list["_Stretch"]


def plan(
    trees: Sequence[Tree], way: Way, hidden_size: int, most: int, beginnings: Mapping[int, int] | None = None
) -> Group:
    """The trees as forests, behind prefixes where that pays.

    Args:
        trees: of any prompts, in any order.
        way: ``packed``, ``branches`` or ``rows``.
        hidden_size: the model's; the larger, the less attention costs beside all else.
        most: the most tokens in a row of several trees.
        beginnings: of some prompts how many tokens they begin with that later calls will begin with, too: a prefix in
            any case, as far as no prediction is asked for within it.
    """
    outermost = Group(np.empty(0, dtype=np.int64), 0)
    if way == "rows":
        outermost.forests.extend(_forests(trees, way, 0, hidden_size, most))
        return outermost
    behind: dict[bytes, list[Tree]] = {}
    for tree in trees:
        length = min((beginnings or {}).get(tree.prompt, 0), tree.chain - 1)
        behind.setdefault(tree.tokens[: length if length >= _SHORTEST else 0].tobytes(), []).append(tree)
    for beginning, its in behind.items():
        tokens = np.frombuffer(beginning, dtype=np.int64).copy()
        group = Group(tokens, len(tokens), kept=True) if len(tokens) else outermost
        if group is not outermost:
            outermost.groups.append(group)
        _plan_behind(group, its, way, hidden_size, most)
    return outermost


def _plan_behind(outermost: Group, trees: Sequence[Tree], way: Way, hidden_size: int, most: int) -> None:
    """Sort trees that begin with a group's prefix into it, and into groups of longer ones."""
    # As bytes, tokens are compared fastest.
    trees = sorted(trees, key=lambda tree: tree.tokens[: tree.chain].astype(">i8").tobytes())
    rows = np.cumsum([0, *(len(tree.tokens) if way == "packed" else len(tree.leaves()) for tree in trees)])
    own: list[tuple[Group, list[Tree]]] = [(outermost, [])]
    open_stretches = [(_stretches(trees), 0)]
    while open_stretches:
        stretch, place = open_stretches.pop()
        group = own[place][0]
        saved = stretch.length - group.length
        count = int(rows[stretch.last] - rows[stretch.first])
        if way == "packed":
            count = min(stretch.last - stretch.first, -(-count // _ROW))
        # In pieces, so that no mask grows with its square.
        if saved > LONGEST_ROW or (saved >= _SHORTEST and (count - 1) * saved > _PASS):
            first = trees[stretch.first]
            inner = Group(first.tokens[group.length : stretch.length], stretch.length)
            group.groups.append(inner)
            place = len(own)
            own.append((inner, []))
        if stretch.inner:
            open_stretches += ((one, place) for one in reversed(stretch.inner))
        else:
            own[place][1].extend(trees[stretch.first : stretch.last])
    for group, its in own:
        group.forests.extend(_forests(its, way, group.length, hidden_size, most))


def batches(items: Sequence[T], sizes: Sequence[tuple[int, int]], limit: Callable[[], int]) -> Iterator[list[T]]:
    """What goes through the model together, of similar size, all batches about equally full.

    Args:
        items: the largest first.
        sizes: for each how many rows it has, and how many tokens each.
        limit: the most padded tokens in a batch of several items; asked before each.
    """
    left = np.cumsum([0, *(rows * tokens for rows, tokens in reversed(sizes))])[::-1]
    begin = 0
    while begin < len(items):
        most = limit()
        # Were each batch filled to the brim, the last could be all but empty.
        fair = left[begin] / -(-int(left[begin]) // most)
        end, rows, longest = begin, 0, 0
        while end < len(items):
            more, tokens = sizes[end]
            padded = (rows + more) * max(longest, tokens)
            if end > begin and (padded > most or rows * longest >= fair):
                break
            end, rows, longest = end + 1, rows + more, max(longest, tokens)
        yield list(items[begin:end])
        begin = end


def _stretches(trees: Sequence[Tree]) -> _Stretch:
    """All stretches of trees in the order of their contexts, within each other; a tree is one by itself.

    A stretch's tokens end before the first one that predicts anything.
    """
    found: list[_Stretch] = [_Stretch(0, 0, len(trees), [])]
    for place, tree in enumerate(trees):
        stretch = _Stretch(tree.chain - 1, place, place + 1, [])
        after = 0
        if place + 1 < len(trees):
            following = trees[place + 1]
            after = min(shared_chain(tree, following), tree.chain - 1, following.chain - 1)
        while found[-1].length > after:
            closed = found.pop()
            closed.inner.append(stretch)
            stretch = _Stretch(closed.length, closed.first, place + 1, closed.inner)
        if found[-1].length < after:
            found.append(_Stretch(after, stretch.first, place + 1, []))
        found[-1].inner.append(stretch)
    return found[0]


def _forests(trees: Sequence[Tree], way: Way, prefix: int, hidden_size: int, most: int) -> list[Forest]:
    """Trees in the order of their contexts as forests, the largest first."""
    rows: list[list[Tree]] = []
    sizes: list[int] = []
    nodes = 0
    for tree in trees:
        size = len(tree.tokens) - prefix
        if way == "packed" and rows:
            shared = shared_chain(rows[-1][-1], tree) - prefix
            # Attention costs a layer 4 operations a pair of tokens and dimension, all else about 24 a token and
            # dimension squared.
            lost = 2 * nodes * (size - shared) / (6 * hidden_size)
            if shared > lost and nodes + size - shared <= min(LONGEST_ROW, most):
                rows[-1].append(tree)
                sizes[-1] = nodes = nodes + size - shared
                continue
        rows.append([tree])
        sizes.append(nodes := size)
    forests = [merge(row, prefix) for row in (fill_rows(rows, sizes, most) if way == "packed" else rows)]
    return sorted(forests, key=lambda forest: padded_tokens(forest, way, prefix)[::-1], reverse=True)


def fill_rows(rows: Sequence[list[T]], sizes: Sequence[int], most: int) -> list[list[T]]:
    """Rows of about the same size, of what has nothing in common too: padding would cost more than its attention.

    Args:
        rows: of what stands together already.
        sizes: of each, in tokens.
        most: tokens in a row, at most; a row that has more stays by itself.
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
