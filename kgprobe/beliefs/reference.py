"""What sampling strategies are compared on: facts between entities, each with the probability that a model fails.

Section 3.2 of the parameterized-graph paper (KGLens); docs/methods/sampling-study.md. A reference comes from a run
that asked every fact many times, or is made up, with as many hard facts, as different ones, and neighbours as alike
as is wanted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from kgprobe.beliefs import DISTRIBUTIONS
from kgprobe.beliefs.propagation import Ends, received
from kgprobe.errors import KgprobeError

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

# Degrees of Student's t, which the parts of entities and of facts have alike.
_FREEDOM = 3
# How far facts of one kind in a mixture differ, of how far the two kinds are from the middle.
_WITHIN = 0.2

# Facts for each entity, and which share of those between entities that are there already goes to the neighbour of a
# neighbour.
_FACTS_AN_ENTITY = 2
_CLOSED = 0.9


@dataclass(frozen=True, slots=True)
class Reference:
    """Facts and how hard each is.

    Attributes:
        subjects, objects: numbers of entities from 0 on, shape (facts,).
        theta: the probability that the model fails on each, in [0, 1], shape (facts,).
        relations: numbers of relations from 0 on, shape (facts,); None where there are none.
    """

    subjects: Positions
    objects: Positions
    theta: Floats
    relations: Positions | None = None

    def hardest(self, count: int) -> Positions:
        """The positions of the facts with the highest theta, equals by position, shape (count,) or all there are."""
        return highest(self.theta, count)

    def likeness(self) -> float:
        """How alike neighbours are: the correlation between theta of a fact and the mean of those around it.

        Over facts that share an entity with another; NaN where there are none, or no differences.
        """
        ends = Ends.of(self.subjects, self.objects)
        around = received(ends, np.ones(len(self.theta))) - 1
        some = around > 0
        means = (received(ends, self.theta) - self.theta)[some] / around[some]
        own = self.theta[some]
        if not some.any() or own.std() == 0 or means.std() == 0:
            return float("nan")
        return float(np.corrcoef(own, means)[0, 1])

    def connected(self) -> float:
        """The share of the facts that belong to the largest connected part, in [0, 1]."""
        entities = int(max(self.subjects.max(initial=-1), self.objects.max(initial=-1))) + 1
        links = sparse.coo_array((np.ones(len(self.theta)), (self.subjects, self.objects)), (entities, entities))
        _, parts = sparse.csgraph.connected_components(links, directed=False)
        return float(np.bincount(parts[self.subjects]).max() / len(self.theta))


def reference_of(subjects: Sequence[str], relations: Sequence[str], objects: Sequence[str], theta: Floats) -> Reference:
    """A reference from ids; one each a fact."""
    _, ends = np.unique([*subjects, *objects], return_inverse=True)
    _, of_relations = np.unique(relations, return_inverse=True)
    return Reference(ends[: len(theta)], ends[len(theta) :], theta, of_relations)


def highest(values: Floats, count: int) -> Positions:
    """The positions of the highest values, highest first, equals by position."""
    return np.argsort(-values, kind="stable")[:count]


@dataclass(frozen=True, slots=True)
class Synthetic:
    """What a made-up reference is like.

    Attributes:
        facts: how many, at least 2.
        hard: about which share of them has theta above one half, between 0 and 1, both excluded.
        spread: the standard deviation of logit theta; 1 leaves most facts near each other, with 6 most of them are
            almost surely known or unknown.
        likeness: which share of the variance of logit theta comes from a fact's two entities, and how much of an
            entity's part is that of the entity it came by, in [0, 1): 0 makes every fact as hard as it is by itself.
        distribution: of logit theta, one of :data:`kgprobe.beliefs.DISTRIBUTIONS`. ``student``: Student's t with 3
            degrees of freedom, so that some are far out. ``mixture``: facts are known or unknown, about as surely as
            others of their kind.
    """

    facts: int
    hard: float = 0.5
    spread: float = 3.0
    likeness: float = 0.5
    distribution: str = "normal"


def synthetic(wanted: Synthetic, seed: list[int]) -> Reference:
    """A connected random graph of facts.

    Half as many entities as facts join one after the other, each by a fact to an entity drawn by its number of facts
    so far (preferential attachment). The facts left over go from an entity drawn in the same way, mostly to a neighbour
    of one of its neighbours. An entity's part in logit theta is likeness times that of the entity it joined, plus
    noise; a fact's is the sum of those of its ends, and noise of its own. Facts come in random order.

    Cost: linear in the facts.

    Raises:
        KgprobeError: there is no such reference.
    """
    if wanted.distribution not in DISTRIBUTIONS:
        raise KgprobeError(
            f"A made-up reference's distribution is one of {', '.join(DISTRIBUTIONS)}; this is {wanted}."
        )
    if wanted.facts < 2 or not 0 < wanted.hard < 1 or not 0 <= wanted.likeness < 1 or not wanted.spread > 0:
        raise KgprobeError(
            "A made-up reference has at least 2 facts, a share of hard ones between 0 and 1, a spread above 0, and a "
            f"likeness from 0 to below 1; these are {wanted}."
        )
    generator = np.random.default_rng([*seed, 0])
    entities = max(2, wanted.facts // _FACTS_AN_ENTITY)
    noise = _drawn(wanted, entities, generator)
    parts = [float(noise[0])]
    around: list[list[int]] = [[]]
    ends: list[int] = [0]
    pairs: list[tuple[int, int]] = []
    for number in range(1, wanted.facts + 1):
        first = ends[generator.integers(len(ends))]
        if number < entities:
            second = number
            around.append([])
            parts.append(wanted.likeness * parts[first] + (1 - wanted.likeness**2) ** 0.5 * float(noise[number]))
        elif generator.random() < _CLOSED:
            between = around[first][generator.integers(len(around[first]))]
            second = around[between][generator.integers(len(around[between]))]
        else:
            second = ends[generator.integers(len(ends))]
        pairs.append((first, second) if generator.random() < 0.5 else (second, first))
        ends += (first, second)
        around[first].append(second)
        around[second].append(first)
    subjects, objects = generator.permutation(np.array(pairs, dtype=np.int64)).T
    of_entities = np.array(parts)
    shared = _standardised(of_entities[subjects] + of_entities[objects])
    own = _drawn(wanted, wanted.facts, generator)
    differing = wanted.likeness**0.5 * shared + (1 - wanted.likeness) ** 0.5 * own
    logit = special.ndtri(wanted.hard) + differing
    if wanted.distribution == "mixture":
        logit = np.sign(logit) + _WITHIN * generator.normal(size=wanted.facts)
    return Reference(subjects, objects, special.expit(wanted.spread * logit))


def _drawn(wanted: Synthetic, size: int, generator: np.random.Generator) -> Floats:
    """Parts with mean 0 and variance 1."""
    if wanted.distribution == "student":
        heavy: Floats = generator.standard_t(_FREEDOM, size) * ((_FREEDOM - 2) / _FREEDOM) ** 0.5
        return heavy
    return generator.normal(size=size)


def _standardised(values: Floats) -> Floats:
    deviation = values.std()
    return (values - values.mean()) / deviation if deviation else np.zeros_like(values)
