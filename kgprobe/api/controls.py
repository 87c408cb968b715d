"""``kgprobe.sample_controls``: facts around those that a fine-tune teaches."""

from datetime import date
from typing import TYPE_CHECKING

from kgprobe.base.arguments import whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.options import make_options
from kgprobe.graph.client import Graph
from kgprobe.labelling.control_options import ControlOptions

if TYPE_CHECKING:
    from kgprobe.labelling.controls import ControlSample
    from kgprobe.sampling.selection import Listed


def sample_controls(
    graph: Graph,
    near: "Listed",
    *,
    limit: int = 500,
    match: str = "degree",
    max_degree: int = 1000,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> "ControlSample":
    """Draw control facts of a fine-tune: facts that were not taught, in rings around the taught ones.

    The rings are disjoint, from near to far: same subject, inverse, same relation, neighbour, two hops, far. They are
    matched in popularity, so that their losses are comparable. No answers are read: facts chosen by the answers from
    which a loss is measured seem to lose or to gain where nothing changed.

    >>> sample = kgprobe.sample_controls(graph, ["France | capital | Paris"], limit=20, as_of="2025-12")
    >>> sample.summary()
    '87 control facts around 1 taught.'
    >>> [ring.role for ring in sample.rings][:3]
    ['same subject', 'inverse', 'same relation']

    Cost: the facts of the taught entities, at most ``max_degree`` each, and of entities next to them; one scan of the
    graph's facts, streamed, for the rings same relation and far.

    Args:
        near: the taught facts: path of a file, or keys or names of facts. A file is a list of facts as
            ``kgprobe probe --facts`` takes it, a file of roles, or a data set in JSON Lines: its texts are searched
            for names of entities, and facts between entities of one record count as taught.
        limit: maximum number of facts in each ring.
        match, max_degree: see :class:`~kgprobe.labelling.control_options.ControlOptions`.
        seed: random seed.
        as_of: facts count as current at this date; None is today.

    Raises:
        ArgumentError: an argument is out of range, the file cannot be read, or it names nothing of the graph.
        UnknownNameError: a name has no fact.
        KgprobeError: no relation of the graph can be asked.
    """
    from kgprobe.labelling.controls import draw_controls

    options = make_options(
        ControlOptions, {"limit": limit, "match": match, "max_degree": max_degree}, "sample_controls"
    )
    day, seed = as_of_day(as_of), whole_number("seed", seed, 0)
    return draw_controls(graph, near, options, seed, day)
