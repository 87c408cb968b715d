"""Two directions of the same facts, as tables and a sentence."""

from kgprobe.analysis.directions import DirectionCounts, Directions
from kgprobe.tables import Table

# Facts that are listed of each direction.
SHOWN_FACTS = 10


def directions_tables(found: Directions) -> list[Table]:
    """Both directions in all and by relation, and the first facts that are known in one of them alone."""
    notes = [
        "A fact counts as known in a direction where it has more right answers than wrong ones; how probably a guesser"
        " has it right may differ between directions, and stands in the table of results."
    ]
    rows = [_row(one) for one in (found.overall, *found.relations)]
    tables = [Table("directions", "Known forwards and backwards", rows, notes)]
    for known, missed in (("forwards", "backwards"), ("backwards", "forwards")):
        its = [one for one in found.one_way if one.known == known]
        listed = [
            {
                "relation": one.relation_name,
                f"known {known}": one.known_answer,
                f"missed {missed}": one.missed_answer,
                "asked": one.missed_question,
                "prediction": one.prediction,
            }
            for one in its[:SHOWN_FACTS]
        ]
        more = [f"{len(listed)} of {len(its):,}."] if len(its) > len(listed) else []
        if listed:
            tables.append(Table(f"{known}_alone", f"Known {known} and not {missed}", listed, more))
    return tables


def directions_verdict(found: Directions) -> str:
    """How much of what is known in one direction is not in the other, in a sentence or two."""
    overall = found.overall
    told = (
        f"Directions, over {overall.facts:,} facts: {overall.forwards} known forwards, {overall.backwards} backwards."
    )
    ways = (
        (overall.not_backwards, overall.forwards_alone + overall.both, "forwards", "backwards"),
        (overall.not_forwards, overall.backwards_alone + overall.both, "backwards", "forwards"),
    )
    missed = [
        f"Of {known:,} known {one}, {part} are not known {other}."
        for part, known, one, other in ways
        if part is not None
    ]
    return " ".join([told, *missed])


def _row(one: DirectionCounts) -> dict[str, object]:
    return {
        "relation": one.name,
        "facts": one.facts,
        "forwards": one.forwards,
        "backwards": one.backwards,
        "both": one.both,
        "forwards alone": one.forwards_alone,
        "backwards alone": one.backwards_alone,
        "not backwards": one.not_backwards,
        "not forwards": one.not_forwards,
    }
