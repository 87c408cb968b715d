"""``kgprobe.label_facts``: make a label table."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.base.arguments import several
from kgprobe.base.options import documented
from kgprobe.base.progress import OnProgress, no_progress
from kgprobe.graph.client import Graph
from kgprobe.labelling.labels import Labels
from kgprobe.labelling.making import make_labels
from kgprobe.labelling.ways import LabelOptions
from kgprobe.models.model import Model, Models
from kgprobe.running.plan import Asking
from kgprobe.sampling.drawing import Draw
from kgprobe.verbalize.inverse_graph import OnNote

if TYPE_CHECKING:
    from kgprobe.sampling.selection import Listed


@documented(LabelOptions, parameters=[Draw, Asking])
def label_facts(
    graph: Graph,
    model: Model | str,
    *,
    limit: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    balance: str | None = None,
    with_former: bool = False,
    seed: int = 0,
    as_of: int | str | date | None = None,
    batch_size: int | None = None,
    name: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    on_note: OnNote = lambda note: None,
    on_progress: OnProgress = no_progress,
    **options: Any,
) -> Labels:
    """Ask a model the same facts in several ways, and label each: classes, and the probability that it is known.

    >>> labels = kgprobe.label_facts(graph, "demo", ways="distractors", limit=8)
    >>> labels.asked_facts, next(labels.table.rows()).basis
    (8, 'asked')

    Each way is asked by stored measurements. The same call resumes an interrupted one, and makes the table again from
    the stored answers.

    Cost: the measurements; six fits of the learner; some tens of microseconds for each row. Memory: the answers, and
    some hundred bytes for each fact of the graph.

    Args:
        model: as in :func:`kgprobe.measure`; the first way draws the facts, and the others ask the same.
        on_note: called with notes on the reversed graph, one sentence at a time.
        on_progress: called with the fits of the learner to held-out parts, and with the rows that are written.

    Raises:
        UnknownNameError: no such model or relation.
        ArgumentError: an argument is out of range, a way is unknown, or the model cannot be asked in it; the judge is
            of another model or graph.
        KgprobeError: the graph has none of the facts; no question of the way ``by`` was answered; the name belongs to
            another table; or the call was interrupted.
    """
    relations = several("relations", relations)
    draw = Draw(
        limit=limit, facts=facts, relations=relations, balance=balance, with_former=with_former, seed=seed, as_of=as_of
    )
    return make_labels(graph, model, draw, Asking(name, batch_size, models, callbacks), options, on_note, on_progress)
