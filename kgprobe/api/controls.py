"""Controls of a fine-tune: facts around the taught ones, and the effects of the fine-tune by role of the facts."""

from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.api.comparing import check_margin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgprobe.labelling.roles import FactRole
    from kgprobe.results.answers import Stored
    from kgprobe.results.roles import RoleComparison


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
