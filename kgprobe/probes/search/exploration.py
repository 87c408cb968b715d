"""State of a search: probabilities of prefixes of names after a prompt, and bounds of entities.

Visited prefixes are nodes, numbered in order of discovery; node 0 is the prompt itself. A node is open until it is
expanded, that is, until the model has been asked for its next tokens. A name that has ended adds its probability to its
entity. The probability of an open node bounds the sum over all names below it, so it bounds the remaining mass of an
entity: once, however many of its names are below. A search chooses the nodes to expand; the results do not depend on
the order.

Some models return upper bounds of probabilities faster than exact values. A search then uses bounds, and asks for exact
values of leading entities. So the mass of a node or an entity is a bound until all values on its paths are exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from kgprobe.models.scoring.trie import TokenNodes, Tree, growing_tree
from kgprobe.probes.search.label_tries import Integers, LabelTrie, ranges
from kgprobe.sampling.lists import places_among

Floats = NDArray[np.float64]

# Nodes to be evaluated in one tree, in addition to their ancestors.
_TREE_NODES = 96
# Labels processed at once.
_LABELS_AT_ONCE = 1 << 18
# Owners are looked up only for prefixes of at most so many labels.
_MAX_OWNER_LABELS = 64
# Natural logarithm. A name with a probability lower by so much than that of its entity is negligible: even a hundred
# such names add less than the rounding error in fp32 over a name's tokens.
_NEGLIGIBLE = 16.0


@dataclass(frozen=True, slots=True)
class _Query:
    """Queried nodes: their children, and the nodes at which names end."""

    nodes: Integers
    child: Integers
    ends: Integers


class Exploration:
    """State of a search after one prompt, over the entities of several tries.

    An entity in two tries has all its names in both, and counts once. All probabilities are natural logarithms.

    Attributes:
        log_probability: upper bound for each node after the prompt; NaN from :meth:`expand` to :meth:`learn`. Shape
            (nodes,).
        open: True for a node that can be expanded, shape (nodes,).
        evaluated: number of expanded nodes.
        admitted, refused: numbers of the entities that are decided to be candidates or not, increasing.
    """

    def __init__(self, context: Sequence[int], tries: Sequence[LabelTrie], limit: int | None = None) -> None:
        """Start at the prompt; entities with a name of more tokens than the model's ``limit`` are refused."""
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
        # For each node: log-probability of its token after its parent; of the end after it, if a name ends there; True
        # if the values of its children are exact; True if its own probability is exact.
        self._step: Floats = np.zeros(1)
        self._ending: Floats = np.full(1, np.nan)
        self._exact = np.zeros(1, dtype=bool)
        self._sure = np.ones(1, dtype=bool)
        # Node and owner of each ended name; number and upper bound of each owner.
        self._ended: Integers = np.empty(0, dtype=np.int64)
        self._owner: Integers = np.empty(0, dtype=np.int64)
        self._numbers: Integers = np.empty(0, dtype=np.int64)
        # One more for position -1: other entities have no mass.
        self._masses: Floats = np.full(1, -np.inf)
        self._queries: dict[bool, list[_Query]] = {True: [], False: []}
        for trie in tries:
            if self._deepest is not None and trie.longest > self._deepest:
                too_long = np.flatnonzero(trie.lengths > self._deepest)
                self.settle(trie.owner_numbers(too_long), np.empty(0, dtype=np.int64))

    def settle(self, numbers: Integers, admitted: Integers) -> None:
        """Admit some of these entities as candidates, and refuse the others."""
        self.admitted = np.union1d(self.admitted, np.asarray(admitted, dtype=np.int64))
        self.refused = np.union1d(self.refused, np.setdiff1d(np.asarray(numbers, dtype=np.int64), admitted))

    def ranked(self) -> Integers:
        """Return the entities with an ended name, except refused ones, by descending mass."""
        numbers = self._numbers[~np.isin(self._numbers, self.refused)]
        return numbers[np.argsort(-self.mass(numbers), kind="stable")]

    def mass(self, numbers: Integers) -> Floats:
        """Return upper bounds of the mass of these entities' ended names, -inf for none; shape (numbers,)."""
        return self._masses[places_among(self._numbers, numbers)]

    def unsure(self, numbers: Integers, heaviest: bool = False) -> Integers:
        """Return the nodes whose exact values make the masses of these entities exact, increasing.

        Negligible names are skipped.

        Args:
            heaviest: True to use only the most probable inexact name of each entity.
        """
        sure = self._sure[self._ended] & self._exact[self._ended]
        names = np.flatnonzero(np.isin(self._owner, numbers) & ~sure)
        owner, value = self._owner[names], self.log_probability[self._ended[names]] + self._ending[self._ended[names]]
        counts = value > self.mass(owner) - _NEGLIGIBLE
        if heaviest:
            order = np.lexsort([-value, owner])
            counts[order[1:]] &= owner[order[1:]] != owner[order[:-1]]
        layer = np.unique(self._ended[names[counts]])
        nodes = [np.empty(0, dtype=np.int64)]
        while len(layer):
            nodes.append(layer[~self._exact[layer]])
            layer = np.unique(self._parent[layer])
            layer = layer[layer >= 0]
        return np.unique(np.concatenate(nodes))

    def bounds(self, numbers: Integers) -> tuple[Floats, Integers]:
        """Return upper bounds of the final masses of these entities: ended names plus open nodes above other names.

        Returns:
            The bounds, and for each entity the most probable open node above a name of it, -1 for none; both of shape
            (numbers,).
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
        """Return the open nodes above names of these entities that are not negligible, increasing."""
        least = self.mass(numbers) - _NEGLIGIBLE
        nodes = [np.empty(0, dtype=np.int64)]
        for rows, owner, node, _ in self._open_names(numbers):
            nodes.append(node[self.log_probability[node] > least[rows[owner]]])
        return np.unique(np.concatenate(nodes))

    def above(self, floor: float) -> Integers:
        """Return the open nodes above a floor, the most probable first; close nodes with refused names only."""
        nodes = np.flatnonzero(self.open & (self.log_probability > floor))
        few = nodes[self._labels(nodes) <= _MAX_OWNER_LABELS]
        if len(few) and len(self.refused):
            useful = np.zeros(len(few), dtype=bool)
            for owner, numbers in self._under(few):
                useful[owner[~np.isin(numbers, self.refused)]] = True
            self.open[few[~useful]] = False
            nodes = nodes[self.open[nodes]]
        return nodes[np.argsort(-self.log_probability[nodes], kind="stable")]

    def contenders(self, nodes: Integers, floor: float) -> Integers:
        """Return the entities that can exceed a floor through a name below these nodes, increasing."""
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
        """Return the largest bound of an entity that is neither refused nor excluded; -inf if there is none left."""
        excluded = np.union1d(excluded, self.refused)
        others = np.setdiff1d(self._numbers, excluded)
        most = float(self.bounds(others)[0].max(initial=-np.inf))
        names = max(map(attrgetter("most_names"), self.tries))
        nodes = self._open_nodes()
        for some in _in_parts(nodes, self._labels(nodes)):
            if self.log_probability[some[0]] + _log(names) <= most:
                break
            others = np.setdiff1d(self.contenders(some, most), excluded)
            most = max(most, float(self.bounds(others)[0].max(initial=-np.inf)))
        return most

    def sole_owners(self, nodes: Integers) -> Integers:
        """Return for each node the number of the only entity with names below it; -1 for several entities."""
        least = np.full(len(nodes), np.iinfo(np.int64).max)
        most = np.full(len(nodes), -1, dtype=np.int64)
        few = np.flatnonzero(self._labels(nodes) <= _MAX_OWNER_LABELS)
        for owner, numbers in self._under(nodes[few]):
            np.minimum.at(least, few[owner], numbers)
            np.maximum.at(most, few[owner], numbers)
        return np.where(least == most, most, -1)

    def nearest(self, count: int) -> Integers:
        """Return at least ``count`` undecided entities below the most probable nodes, or all."""
        nodes = self._open_nodes()
        near = np.empty(0, dtype=np.int64)
        for some in _in_parts(nodes, self._labels(nodes)):
            numbers = [numbers for _, numbers in self._under(some)]
            near = np.union1d(near, np.setdiff1d(np.concatenate(numbers), [*self.admitted, *self.refused]))
            if len(near) >= count:
                break
        return near

    def expand(self, nodes: Integers, exactly: bool = False) -> Integers:
        """Query the model for the children of nodes; :meth:`learn` takes the answers.

        Args:
            nodes: open nodes, which may have been created in the same turn.
            exactly: True for exact values; False for upper bounds, if the model has faster ones.

        Returns:
            The children, increasing.
        """
        self.open[nodes] = False
        self.evaluated += len(nodes)
        depth = self._depth[nodes]
        follow = [
            trie.follow(low[nodes], high[nodes], depth)
            for trie, low, high in zip(self.tries, self._low, self._high, strict=True)
        ]
        # Equal prefixes of two tries are one node.
        keys, place = np.unique(
            np.concatenate([part.source << 32 | part.token for part in follow]), return_inverse=True
        )
        source = nodes[keys >> 32]
        child = len(self._parent) + np.arange(len(keys))
        low = np.zeros((len(follow), len(keys)), dtype=np.int64)
        high = np.zeros((len(follow), len(keys)), dtype=np.int64)
        cuts = np.cumsum([len(part.source) for part in follow])[:-1]
        for row, (part, children) in enumerate(zip(follow, np.split(place, cuts), strict=True)):
            low[row, children], high[row, children] = part.low, part.high
        self._parent = np.concatenate([self._parent, source])
        self._token = np.concatenate([self._token, keys & 0xFFFFFFFF])
        self._depth = np.concatenate([self._depth, self._depth[source] + 1])
        self._low = np.concatenate([self._low, low], axis=1)
        self._high = np.concatenate([self._high, high], axis=1)
        unknown, false = np.full(len(keys), np.nan), np.zeros(len(keys), dtype=bool)
        self.log_probability = np.concatenate([self.log_probability, unknown])
        self._step = np.concatenate([self._step, unknown])
        self._ending = np.concatenate([self._ending, unknown])
        self._exact = np.concatenate([self._exact, false])
        self._sure = np.concatenate([self._sure, false])
        within = np.ones(len(keys), dtype=bool) if self._deepest is None else self._depth[child] <= self._deepest
        self.open = np.concatenate([self.open, within])
        ended, number = self._names_ended(nodes, [(part.ended, part.label) for part in follow])
        self._ended = np.concatenate([self._ended, ended])
        self._owner = np.concatenate([self._owner, number])
        self._queries[exactly].append(_Query(nodes, child, np.unique(ended)))
        return child[within]

    def refine(self, nodes: Integers) -> None:
        """Query the model for exact values of the children of nodes that were expanded before this turn."""
        if len(nodes):
            child = np.flatnonzero(np.isin(self._parent, nodes))
            self._queries[True].append(_Query(nodes, child, nodes[~np.isnan(self._ending[nodes])]))

    def _names_ended(self, nodes: Integers, ends: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
        """Return node and owner of each ended name; a name in two tries counts once."""
        ended = [nodes[place] for place, _ in ends]
        owners = [trie.owner_numbers(label) for trie, (_, label) in zip(self.tries, ends, strict=True)]
        for row in range(1, len(ends)):
            before = [owner << 32 | node for owner, node in zip(owners[:row], ended[:row], strict=True)]
            new = ~np.isin(owners[row] << 32 | ended[row], np.concatenate(before))
            ended[row], owners[row] = ended[row][new], owners[row][new]
        return np.concatenate(ended), np.concatenate(owners)

    def trees(self, prompt: int, end: int, exactly: bool) -> Iterator[tuple[Tree, Integers]]:
        """Yield the queries since the last :meth:`learn` as trees for the model.

        Yields:
            Trees, each with the places of its edges in the values for :meth:`learn`.
        """
        sources, targets = [], []
        for query in self._queries[exactly]:
            sources += [self._parent[query.child], query.ends]
            targets += [self._token[query.child], np.full(len(query.ends), end)]
        if not sum(map(len, sources)):
            return
        source, target = np.concatenate(sources), np.concatenate(targets)
        nodes = np.unique(source)
        nodes_so_far = TokenNodes(self._token, self._parent, self._depth)
        # Nodes with a common beginning belong to the same tree.
        nodes = nodes[np.lexsort(self._low[::-1, nodes])]
        for some in np.array_split(nodes, -(-len(nodes) // _TREE_NODES)):
            places = np.flatnonzero(np.isin(source, some))
            yield growing_tree(prompt, self._context, nodes_so_far, some, source[places], target[places]), places

    def learn(self, values: Mapping[bool, tuple[Floats, bool]]) -> None:
        """Update the probabilities with the model's answers.

        Args:
            values: for both kinds of queries, the values in the places of :meth:`trees`, and True if they are exact.
        """
        for exactly, (answers, exact) in values.items():
            begin = 0
            for query in self._queries[exactly]:
                middle, end = begin + len(query.child), begin + len(query.child) + len(query.ends)
                self._step[query.child] = answers[begin:middle]
                self._ending[query.ends] = answers[middle:end]
                self._exact[query.nodes] = exact
                begin = end
            self._queries[exactly] = []
        for depth in range(1, int(self._depth.max()) + 1):
            nodes = np.flatnonzero(self._depth == depth)
            parents = self._parent[nodes]
            self.log_probability[nodes] = self.log_probability[parents] + self._step[nodes]
            self._sure[nodes] = self._sure[parents] & self._exact[parents]
        self._numbers, place = np.unique(self._owner, return_inverse=True)
        masses = self.log_probability[self._ended] + self._ending[self._ended]
        self._masses = np.full(len(self._numbers) + 1, -np.inf)
        np.logaddexp.at(self._masses, place, masses)

    def _open_nodes(self) -> Integers:
        """Return the open nodes, the most probable first."""
        nodes = np.flatnonzero(self.open)
        return nodes[np.argsort(-self.log_probability[nodes], kind="stable")]

    def _labels(self, nodes: Integers) -> Integers:
        """Return the number of labels below each node, over all tries; shape (nodes,)."""
        count: Integers = (self._high[:, nodes] - self._low[:, nodes]).sum(axis=0)
        return count

    def _under(self, nodes: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield for each trie the names below nodes: index of the node, and number of the name's entity."""
        for trie, low, high in zip(self.tries, self._low, self._high, strict=True):
            owner, labels = ranges(low[nodes], high[nodes] - low[nodes])
            yield owner, trie.owner_numbers(labels)

    def _open_names(self, numbers: Integers) -> Iterator[tuple[Integers, Integers, Integers, Integers]]:
        """Yield for each trie the open nodes above the names of entities; an entity is used in its first trie only.

        Yields:
            Indices of the entities in the trie; for each pair of such an entity and an open node, the index into these
            and the node; for each of these entities, the largest number of names of the same tokens.
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
    """Split nodes into parts with a limited number of labels each."""
    if len(nodes):
        part = np.cumsum(labels) // _LABELS_AT_ONCE
        yield from np.split(nodes, np.flatnonzero(np.diff(part)) + 1)


def _log(count: int) -> float:
    return float(np.log(max(count, 1)))
