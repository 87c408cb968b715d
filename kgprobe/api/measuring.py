"""``kgprobe.measure``: ask a list of facts once each, by one probe."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.base.arguments import several
from kgprobe.base.options import documented
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model, Models
from kgprobe.results.measurement import Measurement, measure_facts
from kgprobe.running.plan import Asking
from kgprobe.sampling.drawing import Draw

if TYPE_CHECKING:
    from kgprobe.sampling.selection import Listed


@documented(parameters=[Draw, Asking])
def measure(
    graph: Graph,
    model: Model | str,
    probe: str = "distractors",
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
    **options: Any,
) -> Measurement:
    """Ask a model about facts of a graph, once each, and keep the answers.

    >>> result = kgprobe.measure(graph, "demo", "distractors", limit=4, distractors=3, sentences=1)
    >>> result.progress.facts, len(result.to_frame())
    (4, 4)

    The same call resumes an interrupted measurement, and returns a finished one, also on a later day if the same facts
    are current. The digest of the model's weights is a part of the settings: a model trained in between makes a new
    measurement.

    Cost: that of the probe, by batches. Memory: the keys of the facts, and one batch.

    Args:
        model: model or spec; see :func:`kgprobe.load_model`.
        probe: name of the probe: ``distractors``, ``questions``, ``examples``, or another installed one.
        options: options of the probe; ``kgprobe probe PROBE --help`` lists them, with hyphens.

    Raises:
        UnknownNameError: no such probe, model or relation.
        ArgumentError: no such option, or a value is out of range.
        KgprobeError: the graph has no facts to ask; the folder belongs to another measurement, is in use, or is not
            writable.
    """
    relations = several("relations", relations)
    draw = Draw(
        limit=limit, facts=facts, relations=relations, balance=balance, with_former=with_former, seed=seed, as_of=as_of
    )
    return measure_facts(graph, model, probe, draw, Asking(name, batch_size, models, callbacks), options)
