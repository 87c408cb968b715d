"""What a model is known to say after a prompt, of all the names in some tries.

The prefixes of names that were met are nodes, numbered as they come; node 0 is the prompt itself. A node is open until
the model was asked what follows it. A name that has ended gives its probability to its entity. An open node's
probability bounds the sum over all names behind it, so it bounds what an entity can still get from them: once, however
many of its names are there. A search decides which nodes to expand; nothing here depends on the order.

Where a model tells sooner what a probability is at most, that is what a search goes by, and an entity that comes to the
front is asked for exactly. What a node or an entity gets is therefore a bound, until all of what leads to it is exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.trie import TokenNodes, Tree, growing_tree
from kgprobe.search.label_trie import Integers, LabelTrie, ranges

Floats = NDArray[np.float64]

# Nodes to be evaluated in one tree; their ancestors come on top.
_TREE_NODES = 96
# Labels looked at in one go.
_LABELS_AT_ONCE = 1 << 18
# A prefix with more labels than this is not looked through for whose they are.
_MOST_OF_ONE = 64
# Natural logarithm. A name with so much less than its entity's others counts for nothing beside them: even a hundred
# such names are less than rounding in fp32 comes to over a name's tokens.
_NEGLIGIBLE = 16.0


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked: after some nodes, their children and, after those at which names end, the end."""

    nodes: Integers
    child: Integers
    ends: Integers


class Exploration:
    """The names that may follow one prompt, of the entities of several tries together.

    An entity in two tries has all its names in both, and counts once. All probabilities are natural logarithms.

    Attributes:
        tries: where the names are.
        log_probability: the most that each node has after the prompt; NaN from :meth:`expand` to :meth:`learn`. Shape
            (nodes,).
        open: whether a node has not been expanded and may be, shape (nodes,).
        evaluated: at how many nodes the model was asked.
        admitted, refused: numbers of the entities that are known to be wanted or not, increasing.
    """

    def __init__(self, context: Sequence[int], tries: Sequence[LabelTrie], limit: int | None = None) -> None:
        """Nothing is known yet.

        Args:
            context: the prompt's tokens, at least one.
            tries: at least one.
            limit: the most tokens that the model can take in; entities with a longer name are refused.
        """
        self.tries = tries
        self.log_probability: Floats = np.zeros(1)
        self.open = np.ones(1, dtype=bool)
        self.evaluated = 0
        self.admitted: Integers = np.empty(0, dtype=np.int64)
        self.refused: Integers = np.empty(0, dtype=np.int64)
        self._context = np.array(context, dtype=np.int64)
        self._deepest = None if limit is None else limit - len(context)
        self._parent: Integers = np.array([-1])
        self._token: Integers = np.array([-1])
        self._depth: Integers = np.array([0])
        self._low: Integers = np.zeros((len(tries), 1), dtype=np.int64)
        self._high: Integers = np.array([[len(trie)] for trie in tries])
        # Of each node: its token after its parent; the end after it, where a name ends; whether what follows it is
        # known exactly, and whether its own probability is.
        self._step: Floats = np.zeros(1)
        self._ending: Floats = np.full(1, np.nan)
        self._exact = np.zeros(1, dtype=bool)
        self._sure = np.ones(1, dtype=bool)
        # Of names that ended: where, and whose; and of the entities: who, and the most they have.
        self._ended: Integers = np.empty(0, dtype=np.int64)
        self._owner: Integers = np.empty(0, dtype=np.int64)
        self._numbers: Integers = np.empty(0, dtype=np.int64)
        self._found: Floats = np.empty(0)
        self._asked: dict[bool, list[_Asked]] = {True: [], False: []}
        if self._deepest is not None:
            for trie in tries:
                if trie.longest > self._deepest:
                    self.settle(
                        trie.owner_numbers(np.flatnonzero(trie.lengths > self._deepest)), np.empty(0, dtype=np.int64)
                    )

    def settle(self, numbers: Integers, admitted: Integers) -> None:
        """Learn which of these entities are wanted; the others are not."""
        self.admitted = np.union1d(self.admitted, np.asarray(admitted, dtype=np.int64))
        self.refused = np.union1d(self.refused, np.setdiff1d(np.asarray(numbers, dtype=np.int64), admitted))

    def ranked(self) -> Integers:
        """The entities with a name that has ended, but for the refused ones, by what these have got at most."""
        numbers = self._numbers[~np.isin(self._numbers, self.refused)]
        return numbers[np.argsort(-self.mass(numbers), kind="stable")]

    def mass(self, numbers: Integers) -> Floats:
        """What the names of these entities that have ended got together at most, -inf for none; shape (numbers,)."""
        if not len(self._numbers):
            return np.full(len(numbers), -np.inf)
        place = np.minimum(np.searchsorted(self._numbers, numbers), len(self._numbers) - 1)
        return np.where(self._numbers[place] == numbers, self._found[place], -np.inf)

    def unsure(self, numbers: Integers, heaviest: bool = False) -> Integers:
        """The nodes to be asked exactly so that what these entities' names that have ended got is sure, increasing.

        Names that count for nothing beside the others are left out.

        Args:
            heaviest: for each entity those of its most probable name alone, of the names that are not sure.
        """
        sure = self._sure[self._ended] & self._exact[self._ended]
        names = np.flatnonzero(np.isin(self._owner, numbers) & ~sure)
        owner, value = self._owner[names], self.log_probability[self._ended[names]] + self._ending[self._ended[names]]
        counts = value > self.mass(owner) - _NEGLIGIBLE
        if heaviest:
            order = np.lexsort([-value, owner])
            counts[order[1:]] &= owner[order[1:]] != owner[order[:-1]]
        layer = np.unique(self._ended[names[counts]])
        found = [np.empty(0, dtype=np.int64)]
        while len(layer):
            found.append(layer[~self._exact[layer]])
            layer = np.unique(self._parent[layer])
            layer = layer[layer >= 0]
        return np.unique(np.concatenate(found))

    def bounds(self, numbers: Integers) -> tuple[Floats, Integers]:
        """The most that these entities can get: what they have, and what the open nodes before their names have.

        Returns:
            the bounds, and for each entity the most probable open node before a name of it, -1 for none; both of
            shape (numbers,).
        """
        total = self.mass(numbers)
        heaviest = np.full(len(numbers), -1, dtype=np.int64)
        for rows, owner, node, repeats in self._open_names(numbers):
            value = self.log_probability[node]
            np.logaddexp.at(total, rows[owner], value + np.log(repeats[owner]))
            best = np.full(len(rows), -np.inf)
            np.maximum.at(best, owner, value)
            most = value == best[owner]
            heaviest[rows[owner[most]]] = node[most]
        return total, heaviest

    def holding(self, numbers: Integers) -> Integers:
        """The open nodes before a name of one of these entities that counts beside what it has, increasing."""
        least = self.mass(numbers) - _NEGLIGIBLE
        found = [np.empty(0, dtype=np.int64)]
        for rows, owner, node, _ in self._open_names(numbers):
            found.append(node[self.log_probability[node] > least[rows[owner]]])
        return np.unique(np.concatenate(found))

    def above(self, floor: float) -> Integers:
        """The open nodes that are more probable than this, the most probable first; none before refused names alone."""
        nodes = np.flatnonzero(self.open & (self.log_probability > floor))
        few = nodes[self._labels(nodes) <= _MOST_OF_ONE]
        if len(few) and len(self.refused):
            wanted = np.zeros(len(few), dtype=bool)
            for owner, numbers in self._under(few):
                wanted[owner[~np.isin(numbers, self.refused)]] = True
            self.open[few[~wanted]] = False
            nodes = nodes[self.open[nodes]]
        return nodes[np.argsort(-self.log_probability[nodes], kind="stable")]

    def contenders(self, nodes: Integers, floor: float) -> Integers:
        """Entities that may get more than this from a name behind these nodes and their other names, increasing."""
        parts = [np.empty(0, dtype=np.int64)]
        for trie, low, high in zip(self.tries, self._low, self._high, strict=True):
            near = nodes[(high[nodes] > low[nodes]) & (self.log_probability[nodes] > floor - _log(trie.most_names))]
            for some in _in_parts(near, high[near] - low[near]):
                owner, labels = ranges(low[some], high[some] - low[some])
                places = trie.owners[labels].astype(np.int64)
                may = self.log_probability[some][owner] + np.log(trie.names(places)) > floor
                parts.append(trie.entities[np.unique(places[may])].astype(np.int64))
        return np.unique(np.concatenate(parts))

    def most_of_others(self, excluded: Integers) -> float:
        """The most that any entity can get that is neither refused nor one of these; -inf if there is none left."""
        excluded = np.union1d(excluded, self.refused)
        others = np.setdiff1d(self._numbers, excluded)
        most = float(self.bounds(others)[0].max(initial=-np.inf))
        names = max(trie.most_names for trie in self.tries)
        nodes = np.flatnonzero(self.open)
        nodes = nodes[np.argsort(-self.log_probability[nodes], kind="stable")]
        for some in _in_parts(nodes, self._labels(nodes)):
            if self.log_probability[some[0]] + _log(names) <= most:
                break
            others = np.setdiff1d(self.contenders(some, most), excluded)
            most = max(most, float(self.bounds(others)[0].max(initial=-np.inf)))
        return most

    def sole_owners(self, nodes: Integers) -> Integers:
        """For each node the number of the entity that all names behind it belong to; -1 where there are several."""
        least = np.full(len(nodes), np.iinfo(np.int64).max)
        most = np.full(len(nodes), -1, dtype=np.int64)
        few = np.flatnonzero(self._labels(nodes) <= _MOST_OF_ONE)
        for owner, numbers in self._under(nodes[few]):
            np.minimum.at(least, few[owner], numbers)
            np.maximum.at(most, few[owner], numbers)
        return np.where(least == most, most, -1)

    def nearest(self, count: int) -> Integers:
        """At least so many entities that are neither admitted nor refused, behind the most probable nodes; or all."""
        nodes = np.flatnonzero(self.open)
        nodes = nodes[np.argsort(-self.log_probability[nodes], kind="stable")]
        near = np.empty(0, dtype=np.int64)
        for some in _in_parts(nodes, self._labels(nodes)):
            numbers = [numbers for _, numbers in self._under(some)]
            near = np.union1d(near, np.setdiff1d(np.concatenate(numbers), [*self.admitted, *self.refused]))
            if len(near) >= count:
                break
        return near

    def expand(self, nodes: Integers, exactly: bool = False) -> Integers:
        """Ask the model what follows these nodes; the answers come with :meth:`learn`.

        Args:
            nodes: open ones; also such as came from expanding in the same turn.
            exactly: or what the probabilities are at most, where the model tells that sooner.

        Returns:
            the nodes that follow, increasing.
        """
        self.open[nodes] = False
        self.evaluated += len(nodes)
        depth = self._depth[nodes]
        follow = [
            trie.follow(low[nodes], high[nodes], depth)
            for trie, low, high in zip(self.tries, self._low, self._high, strict=True)
        ]
        # What two tries have in common is one node.
        keys, place = np.unique(
            np.concatenate([part.source << 32 | part.token for part in follow]), return_inverse=True
        )
        source = nodes[keys >> 32]
        child = len(self._parent) + np.arange(len(keys))
        low = np.zeros((len(follow), len(keys)), dtype=np.int64)
        high = np.zeros((len(follow), len(keys)), dtype=np.int64)
        cuts = np.cumsum([len(part.source) for part in follow])[:-1]
        for row, (part, own) in enumerate(zip(follow, np.split(place, cuts), strict=True)):
            low[row, own], high[row, own] = part.low, part.high
        self._parent = np.concatenate([self._parent, source])
        self._token = np.concatenate([self._token, keys & 0xFFFFFFFF])
        self._depth = np.concatenate([self._depth, self._depth[source] + 1])
        self._low = np.concatenate([self._low, low], axis=1)
        self._high = np.concatenate([self._high, high], axis=1)
        self.log_probability = np.concatenate([self.log_probability, np.full(len(keys), np.nan)])
        self._step = np.concatenate([self._step, np.full(len(keys), np.nan)])
        self._ending = np.concatenate([self._ending, np.full(len(keys), np.nan)])
        self._exact = np.concatenate([self._exact, np.zeros(len(keys), dtype=bool)])
        self._sure = np.concatenate([self._sure, np.zeros(len(keys), dtype=bool)])
        within = np.ones(len(keys), dtype=bool) if self._deepest is None else self._depth[child] <= self._deepest
        self.open = np.concatenate([self.open, within])
        ended, number = self._names_ended(nodes, [(part.ended, part.label) for part in follow])
        self._ended = np.concatenate([self._ended, ended])
        self._owner = np.concatenate([self._owner, number])
        self._asked[exactly].append(_Asked(nodes, child, np.unique(ended)))
        return child[within]

    def refine(self, nodes: Integers) -> None:
        """Ask the model exactly what follows these nodes, which were expanded before this turn."""
        if len(nodes):
            child = np.flatnonzero(np.isin(self._parent, nodes))
            self._asked[True].append(_Asked(nodes, child, nodes[~np.isnan(self._ending[nodes])]))

    def _names_ended(self, nodes: Integers, ends: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
        """At which node a name ends and whose it is; a name that stands in two tries once."""
        where = [nodes[place] for place, _ in ends]
        whose = [trie.owner_numbers(label) for trie, (_, label) in zip(self.tries, ends, strict=True)]
        for row in range(1, len(ends)):
            before = [number << 32 | node for number, node in zip(whose[:row], where[:row], strict=True)]
            new = ~np.isin(whose[row] << 32 | where[row], np.concatenate(before))
            where[row], whose[row] = where[row][new], whose[row][new]
        return np.concatenate(where), np.concatenate(whose)

    def trees(self, prompt: int, end: int, exactly: bool) -> Iterator[tuple[Tree, Integers]]:
        """What was asked since the last :meth:`learn`, for the model.

        Args:
            prompt: the prompt's number, kept in the trees.
            end: the id of the token that ends a name.
            exactly: what was asked exactly; else the other.

        Yields:
            trees, each with the places of its edges' values in what :meth:`learn` takes.
        """
        something = [asked for asked in self._asked[exactly] if len(asked.child) + len(asked.ends)]
        if not something:
            return
        source = np.concatenate([np.concatenate([self._parent[asked.child], asked.ends]) for asked in something])
        target = np.concatenate(
            [np.concatenate([self._token[asked.child], np.full(len(asked.ends), end)]) for asked in something]
        )
        nodes = np.unique(source)
        nodes_so_far = TokenNodes(self._token, self._parent, self._depth)
        # What shares a beginning comes into the same tree.
        nodes = nodes[np.lexsort(self._low[::-1, nodes])]
        for some in np.array_split(nodes, -(-len(nodes) // _TREE_NODES)):
            places = np.flatnonzero(np.isin(source, some))
            yield growing_tree(prompt, self._context, nodes_so_far, some, source[places], target[places]), places

    def learn(self, values: Mapping[bool, tuple[Floats, bool]]) -> None:
        """Take the model's answers.

        Args:
            values: to what was asked exactly and to the other, in the places of the trees' edges, and whether they are
                exact.
        """
        for exactly, (answers, exact) in values.items():
            begin = 0
            for asked in self._asked[exactly]:
                middle, end = begin + len(asked.child), begin + len(asked.child) + len(asked.ends)
                self._step[asked.child] = answers[begin:middle]
                self._ending[asked.ends] = answers[middle:end]
                self._exact[asked.nodes] = exact
                begin = end
            self._asked[exactly] = []
        for depth in range(1, int(self._depth.max()) + 1):
            nodes = np.flatnonzero(self._depth == depth)
            parents = self._parent[nodes]
            self.log_probability[nodes] = self.log_probability[parents] + self._step[nodes]
            self._sure[nodes] = self._sure[parents] & self._exact[parents]
        self._numbers, place = np.unique(self._owner, return_inverse=True)
        masses = self.log_probability[self._ended] + self._ending[self._ended]
        self._found = np.full(len(self._numbers), -np.inf)
        np.logaddexp.at(self._found, place, masses)

    def _labels(self, nodes: Integers) -> Integers:
        """How many labels stand behind each node, over all tries; shape (nodes,)."""
        count: Integers = (self._high[:, nodes] - self._low[:, nodes]).sum(axis=0)
        return count

    def _under(self, nodes: Integers) -> Iterator[tuple[Integers, Integers]]:
        """For each trie the entities behind nodes: which node, and the entity's number, once a name."""
        for trie, low, high in zip(self.tries, self._low, self._high, strict=True):
            owner, labels = ranges(low[nodes], high[nodes] - low[nodes])
            yield owner, trie.owner_numbers(labels)

    def _open_names(self, numbers: Integers) -> Iterator[tuple[Integers, Integers, Integers, Integers]]:
        """Where the open nodes before the names of entities are, for each trie, each entity in one trie alone.

        Yields:
            which of the entities are in the trie; which of these, and an open node before its names, each pair once;
            how many names of each of these have the same tokens.
        """
        missing = np.ones(len(numbers), dtype=bool)
        count = len(self._parent)
        opened = np.flatnonzero(self.open)
        for trie, low, high in zip(self.tries, self._low, self._high, strict=True):
            places = trie.find(numbers)
            rows = np.flatnonzero(missing & (places >= 0))
            missing[rows] = False
            owner, labels = trie.labels_of(places[rows])
            nodes = opened[high[opened] > low[opened]]
            if not len(nodes) or not len(labels):
                continue
            nodes = nodes[np.argsort(low[nodes])]
            near = np.searchsorted(low[nodes], labels, side="right") - 1
            inside = (near >= 0) & (labels < high[nodes[near]])
            pairs = np.unique(owner[inside] * count + nodes[near[inside]])
            yield rows, pairs // count, pairs % count, trie.repeats(places[rows])


def _in_parts(nodes: Integers, labels: Integers) -> Iterator[Integers]:
    """Nodes in their order, in parts with not too many labels each."""
    if len(nodes):
        part = np.cumsum(labels) // _LABELS_AT_ONCE
        yield from np.split(nodes, np.flatnonzero(np.diff(part)) + 1)


def _log(count: int) -> float:
    return float(np.log(max(count, 1)))
