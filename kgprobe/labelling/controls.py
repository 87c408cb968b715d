"""Control facts around taught facts: how many each ring has, and how well the rings are matched.

docs/methods/controls.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from kgprobe.base.sanitize import counted
from kgprobe.base.tables import INTERNAL, Heading, ResultRow
from kgprobe.graph.client import Graph
from kgprobe.labelling.control_options import ControlOptions
from kgprobe.labelling.matching import MatchedRings, match_rings
from kgprobe.labelling.neighbourhood import Neighbourhood
from kgprobe.labelling.rings import Rings, find_rings
from kgprobe.labelling.roles import HELD_OUT, TAUGHT, FactRole, write_roles
from kgprobe.labelling.taught import TaughtFacts, read_taught
from kgprobe.results.result import Listing, Result
from kgprobe.results.samples import named_facts
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.selection import Listed
from kgprobe.verbalize.askable_relations import askable_relations

# Candidates of each ring, in terms of the limit: matching selects among them.
_CANDIDATES = 10
_SHOWN_HUBS = 3

# Reasons why a ring is empty.
_WHY_EMPTY = {
    "same subject": "the taught subjects have no other facts that can be asked",
    "inverse": "the taught objects are not the subject of a fact that can be asked",
    "same relation": "no other subject has a taught relation",
    "neighbour": "no other fact with an untaught relation has a taught subject or object as its object",
    "two hops": "no other fact is at an entity next to the taught ones",
    "far": "no tested fact is farther than two steps from the taught facts",
}


@dataclass(frozen=True, slots=True)
class RingBalance(ResultRow):
    """A ring, and its distribution.

    Attributes:
        candidates: number of facts from which it is drawn; of larger rings, a random sample.
        matched: True if its distribution of popularity is that of the other matched rings.
        popularity: mean of log(1 + degree) or log(1 + popularity), summed over both ends; None without facts.
    """

    role: Annotated[str, Heading("ring")]
    candidates: Annotated[int, Heading("candidates")]
    facts: Annotated[int, Heading("facts")]
    matched: bool
    popularity: Annotated[float | None, Heading("popularity")]
    example: Annotated[str | None, Heading("example")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ControlSample(Result):
    """Control facts in rings around taught facts; one row for each ring, from near to far.

    ``ranges`` is the number of ranges of popularity in which rings are matched; 0 if no rings are.
    """

    rings: Annotated[Sequence[RingBalance], Listing("Control facts, by ring (popularity: mean of logarithms)")]
    taught: int
    held_out: int
    ranges: int
    roles: Annotated[Sequence[FactRole], INTERNAL]

    def summary(self) -> str:
        """Return the numbers of facts."""
        controls = sum(ring.facts for ring in self.rings)
        held_out = f", {self.held_out:,} held out" if self.held_out else ""
        return f"{counted(controls, 'control fact')} around {self.taught:,} taught{held_out}."

    def write(self, path: str | Path) -> Path:
        """Write the roles, one JSON object per line, and return the path.

        `kgprobe probe --facts` asks these facts; `kgprobe check --roles` reports them by role.
        """
        write_roles(Path(path), self.roles)
        return Path(path)


def draw_controls(graph: Graph, near: Listed, options: ControlOptions, seed: int, day: int) -> ControlSample:
    """Draw control facts; see :func:`kgprobe.sample_controls`."""
    relations = list(askable_relations(graph))
    around = Neighbourhood(graph, relations, day, options.match, options.max_degree)
    taught = read_taught(around, near)
    size = _CANDIDATES * options.limit
    rings = find_rings(around, taught.taught, taught.held_out, taught.entities, size, seed)
    matched = match_rings(rings.candidates, options.limit)
    roles = [FactRole(*key, TAUGHT) for key in taught.taught]
    roles += [FactRole(*key, HELD_OUT) for key in taught.held_out]
    for ring, drawn in matched.drawn.items():
        roles += [FactRole(*candidate.key, ring, candidate.of) for candidate in drawn]
    return ControlSample(
        rings=_balances(graph, rings, matched),
        taught=len(taught.taught),
        held_out=len(taught.held_out),
        ranges=matched.ranges,
        roles=roles,
        notes=_notes(taught, rings, matched, options),
    )


def _balances(graph: Graph, rings: Rings, matched: MatchedRings) -> list[RingBalance]:
    firsts = [drawn[0].key for drawn in matched.drawn.values() if drawn]
    examples = {fact.fact.key: fact.title for fact in named_facts(graph, describe_facts(graph, firsts))}
    balances = []
    for ring, drawn in matched.drawn.items():
        candidates = len(rings.candidates[ring])
        if not drawn:
            balances.append(RingBalance(ring, candidates, 0, False, None, None))
            continue
        popularity = float(np.mean([candidate.popularity for candidate in drawn]))
        is_matched = matched.ranges > 0 and ring not in matched.unmatched
        example = examples[drawn[0].key]
        balances.append(RingBalance(ring, candidates, len(drawn), is_matched, popularity, example))
    return balances


def _notes(taught: TaughtFacts, rings: Rings, matched: MatchedRings, options: ControlOptions) -> list[str]:
    """Return notes on the file, hubs, empty rings and matching."""
    notes = list(taught.notes)
    if rings.hubs:
        shown = ", ".join([*rings.hubs.values()][:_SHOWN_HUBS]) + (", …" if len(rings.hubs) > _SHOWN_HUBS else "")
        notes.append(
            f"{len(rings.hubs):,} taught entities have more than {options.max_degree:,} facts ({shown}): the facts that"
            " point to them are not read. `max_degree` changes this number."
        )
    if rings.skipped_hubs:
        notes.append(
            f"{len(rings.skipped_hubs):,} of them are the subject of more than {options.max_degree:,} facts, which are"
            " not read either."
        )
    notes += [f"No facts in the ring {ring}: {_WHY_EMPTY[ring]}." for ring, own in rings.candidates.items() if not own]
    if rings.far_of_taught_relations:
        notes.append("The far facts are of taught relations: no tested fact of another relation is far.")
    if rings.tested is not None:
        notes.append(
            f"The distance of {rings.tested:,} facts of other relations was computed, and of no more; few or none are"
            " far."
        )
    if rings.unknown:
        notes.append(f"{rings.unknown:,} candidates are left out: the {options.match} of an end is unknown.")
    return [*notes, *_matching_notes(matched, options.match)]


def _matching_notes(matched: MatchedRings, by: str) -> list[str]:
    """Return notes on the rings that are matched, and those that are not."""
    if not matched.ranges:
        return ["No rings are matched: fewer than two are large enough and have facts alike."]
    notes = []
    if matched.unmatched:
        notes.append(
            "Not matched, as they have too few facts, or too few like those of the other rings:"
            f" {', '.join(matched.unmatched)}."
        )
    return [*notes, f"Matched in {matched.ranges} ranges of {by}."]
