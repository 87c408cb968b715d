"""Controls of a fine-tune: facts around the taught ones, and the effects of the fine-tune by role of the facts."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.api.comparing import check_margin
from kgprobe.api.stored import open_answers
from kgprobe.arguments import whole_number
from kgprobe.dates import as_of_day
from kgprobe.graph.client import Graph
from kgprobe.labelling.control_options import ControlOptions
from kgprobe.options import make_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgprobe.labelling.roles import FactRole
    from kgprobe.results.answers import Stored
    from kgprobe.results.controls import ControlSample
    from kgprobe.results.roles import RoleComparison
    from kgprobe.sampling.selection import Listed


def sample_controls(
    graph: Graph,
    near: "Listed",
    *,
    base: "Stored | str | Path | None" = None,
    limit: int = 500,
    match: str = "degree",
    max_degree: int = 1000,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> "ControlSample":
    """Draw control facts of a fine-tune: facts that were not taught, in rings around the taught ones.

    The rings are disjoint, from near to far: same subject, inverse, same relation, neighbour, two hops, far. They are
    matched in popularity, and with ``base`` in the base model's answers, so that their losses are comparable.

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
        base: measurement or run of the base model, or its name.
        limit: maximum number of facts in each ring.
        match, max_degree: see :class:`~kgprobe.labelling.control_options.ControlOptions`.
        seed: random seed.
        as_of: facts count as current at this date; None is today.

    Raises:
        ArgumentError: an argument is out of range, the file cannot be read, or it names nothing of the graph.
        UnknownNameError: no such result, or a name has no fact.
        KgprobeError: the base model has no answers, or no relation of the graph can be asked.
    """
    from kgprobe.results.answers import answers_of
    from kgprobe.results.controls import draw_controls

    options = make_options(
        ControlOptions, {"limit": limit, "match": match, "max_degree": max_degree}, "sample_controls"
    )
    day, seed = as_of_day(as_of), whole_number("seed", seed, 0)
    known = None
    if base is not None:
        facts = answers_of(open_answers(base, graph) if isinstance(base, (str, Path)) else base).facts
        known = dict(zip(facts.index, (facts["right"] > facts["wrong"]).tolist(), strict=True))
    return draw_controls(graph, near, options, known, seed, day)


def check_roles(
    base: "Stored", tuned: "Stored", roles: "Path | str | Iterable[FactRole]", *, margin: float = 0.02
) -> "RoleComparison":
    """Test each ring of control facts for lost accuracy, and measure the gain of taught and held-out facts.

    The verdicts are those of :func:`kgprobe.check_forgetting`, with Holm's correction over the rings: with 95%
    confidence, no ring has a false verdict.

    >>> from kgprobe.labelling.roles import FactRole
    >>> base = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> tuned = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="tuned")
    >>> facts = base.to_frame()
    >>> roles = [FactRole(key.subject, key.fact, "far") for key in facts[["subject", "fact"]].itertuples()]
    >>> kgprobe.check_roles(base, tuned, roles).verdict.value
    'undecided'

    Cost: reading all answers.

    Args:
        base, tuned: as in :func:`kgprobe.check_forgetting`.
        roles: roles of facts, or the path of a file of roles, as ``kgprobe sample controls`` writes it.
        margin: allowed loss of each ring, a share in [0, 1): 0.02 is two percentage points.

    Raises:
        ArgumentError: the margin is out of range, the roles cannot be read, a fact has two roles, or the results
            differ in more than the model.
        KgprobeError: a result has no answers, or no fact with a role was answered by both.
    """
    from kgprobe.labelling.roles import read_roles
    from kgprobe.results.roles import roles_between

    margin = check_margin(margin)
    if isinstance(roles, (str, Path)):
        return roles_between(base, tuned, read_roles(Path(roles)), margin, source=str(roles))
    return roles_between(base, tuned, roles, margin)
