"""``kgprobe.find_cutoff``: up to when does a model know facts?"""

from typing import TYPE_CHECKING

from kgprobe.arguments import whole_number
from kgprobe.sampling.years import year_relation_id

if TYPE_CHECKING:
    from kgprobe.results.answers import Stored
    from kgprobe.results.cutoff import Cutoff


def find_cutoff(
    result: "Stored", *, since: int | None = None, year_relation: str | None = None, seed: int = 0
) -> "Cutoff":
    """Estimate a model's knowledge cut-off from its answers to facts with a beginning, with a 95% interval.

    The rate of right answers, adjusted for relation and popularity, may change linearly with time and drops after the
    cut-off. The result says if no drop is visible. See docs/methods/cut-off.md.

    >>> measured = kgprobe.measure(graph, "demo", limit=40, distractors=3, sentences=1)
    >>> cutoff = kgprobe.find_cutoff(measured, since=1900)
    >>> cutoff.verdict.value in ("visible", "gradual", "not visible", "too few facts")
    True

    Args:
        result: measurement or run, opened with its graph.
        since: first year of the facts that count; None for 15 years before the result's ``as_of``.
        year_relation: id or name of a relation that dates facts by their subjects, such as a film's publication;
            ``start`` for the beginning of the fact; None chooses, see :mod:`kgprobe.sampling.years`.
        seed: of the test for any drop, by random signs.

    Raises:
        UnknownNameError: no such relation.
        ArgumentError: ``since`` is after the result's date, or the result asks inverse relations.
        KgprobeError: the result has no answers, or no graph.

    Cost: reading the answers; a walk from each subject; some twenty passes over facts × months × 3.
    """
    from kgprobe.results.cutoff import find_cutoff as estimate

    seed = whole_number("seed", seed, 0)
    if since is not None:
        since = whole_number("since", since, 1)
    years = None if result.graph is None else year_relation_id(result.graph, year_relation)
    return estimate(result, since, years, seed)
