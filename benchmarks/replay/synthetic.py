"""Synthetic references: facts with a given share of hard ones, spread, and similarity of neighbours.

docs/methods/sampling-study.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from kgprobe.base.errors import KgprobeError
from kgprobe.beliefs.propagation import FactEnds, received
from kgprobe.running.replays import Reference

Floats = NDArray[np.float64]

DISTRIBUTIONS = ("normal", "student", "mixture")

# Degrees of freedom of Student's t.
_FREEDOM = 3
# Standard deviation within a component of the mixture, relative to the distance of its mean from 0.
_WITHIN = 0.2

# Facts per entity, and the share of facts between existing entities that connect a neighbour of a neighbour.
_FACTS_AN_ENTITY = 2
_CLOSED = 0.9


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Parameters of a synthetic reference.

    Attributes:
        facts: number of facts, at least 2.
        hard: approximate share of facts with theta above one half, in (0, 1).
        spread: standard deviation of logit theta; with 1 most facts are similar, with 6 most are almost surely known
            or unknown.
        likeness: share of the variance of logit theta due to a fact's two entities, and weight of the entity that an
            entity was attached to, in [0, 1); 0 makes facts independent.
        distribution: of logit theta, one of :data:`DISTRIBUTIONS`. ``student``: Student's t with 3
            degrees of freedom (heavy tails). ``mixture``: facts are known or unknown, with little spread within both.
    """

    facts: int
    hard: float = 0.5
    spread: float = 3.0
    likeness: float = 0.5
    distribution: str = "normal"


def synthetic(shape: Synthetic, seed: list[int]) -> Reference:
    """Draw a connected random graph of facts.

    Half as many entities as facts are attached in sequence, each by a fact to an entity drawn by its number of facts so
    far (preferential attachment). The remaining facts connect an entity drawn in the same way, mostly with a neighbour
    of one of its neighbours. An entity's part in logit theta is likeness times that of the entity it was attached to,
    plus noise; a fact's logit is the sum of the parts of its ends, plus own noise. Facts are in random order.

    Cost: linear in the facts.

    Raises:
        KgprobeError: a parameter is out of range.
    """
    if shape.distribution not in DISTRIBUTIONS:
        raise KgprobeError(
            f"distribution is {shape.distribution!r}; one of {', '.join(DISTRIBUTIONS)} is expected: {shape}."
        )
    if shape.facts < 2 or not 0 < shape.hard < 1 or not 0 <= shape.likeness < 1 or not shape.spread > 0:
        raise KgprobeError(
            "A synthetic reference needs at least 2 facts, a share of hard ones between 0 and 1, a spread above 0, and "
            f"a likeness from 0 to below 1: {shape}."
        )
    generator = np.random.default_rng([*seed, 0])
    entities = max(2, shape.facts // _FACTS_AN_ENTITY)
    noise = _draw_parts(shape, entities, generator)
    parts = [float(noise[0])]
    around: list[list[int]] = [[]]
    ends: list[int] = [0]
    pairs: list[tuple[int, int]] = []
    for number in range(1, shape.facts + 1):
        first = ends[generator.integers(len(ends))]
        if number < entities:
            second = number
            around.append([])
            parts.append(shape.likeness * parts[first] + (1 - shape.likeness**2) ** 0.5 * float(noise[number]))
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
    own = _draw_parts(shape, shape.facts, generator)
    differing = shape.likeness**0.5 * shared + (1 - shape.likeness) ** 0.5 * own
    logit = special.ndtri(shape.hard) + differing
    if shape.distribution == "mixture":
        logit = np.sign(logit) + _WITHIN * generator.normal(size=shape.facts)
    return Reference(subjects, objects, special.expit(shape.spread * logit))


def _draw_parts(shape: Synthetic, size: int, generator: np.random.Generator) -> Floats:
    """Draw parts with mean 0 and variance 1."""
    if shape.distribution == "student":
        heavy: Floats = generator.standard_t(_FREEDOM, size) * ((_FREEDOM - 2) / _FREEDOM) ** 0.5
        return heavy
    return generator.normal(size=size)


def _standardised(values: Floats) -> Floats:
    deviation = values.std()
    return (values - values.mean()) / deviation if deviation else np.zeros_like(values)


def likeness(reference: Reference) -> float:
    """Return the correlation between theta of a fact and the mean theta of its neighbours.

    Only facts that share an entity with another count; NaN if there are none, or theta does not vary.
    """
    ends = FactEnds.of(reference.subjects, reference.objects)
    around = received(ends, np.ones(len(reference.theta))) - 1
    has_neighbours = around > 0
    means = (received(ends, reference.theta) - reference.theta)[has_neighbours] / around[has_neighbours]
    own = reference.theta[has_neighbours]
    if not has_neighbours.any() or own.std() == 0 or means.std() == 0:
        return float("nan")
    return float(np.corrcoef(own, means)[0, 1])


def connected(reference: Reference) -> float:
    """Return the share of facts in the largest connected component, in [0, 1]."""
    subjects, objects = reference.subjects, reference.objects
    entities = int(max(subjects.max(initial=-1), objects.max(initial=-1))) + 1
    links = sparse.coo_array((np.ones(len(subjects)), (subjects, objects)), (entities, entities))
    _, parts = sparse.csgraph.connected_components(links, directed=False)
    return float(np.bincount(parts[subjects]).max() / len(subjects))
