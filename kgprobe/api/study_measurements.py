"""Measurements of a study: the same facts, asked to the end by a probe with different options."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from kgprobe.api.measuring import measure
from kgprobe.base.arguments import optional_number, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import KgprobeError
from kgprobe.base.options import make_options
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model, Models
from kgprobe.results.measurement import Measurement
from kgprobe.running.callbacks import Callbacks
from kgprobe.sampling.drawing import DrawOptions
from kgprobe.sampling.selection import choose_facts, list_existing

if TYPE_CHECKING:
    from kgprobe.sampling.keys import FactKey
    from kgprobe.sampling.selection import Listed


def measure_to_the_end(
    graph: Graph, model: Model | str, probe: str, callbacks: Callbacks, title: str = "", **arguments: Any
) -> Measurement:
    """Measure to the end."""
    titled = replace(callbacks, on_start=lambda start: callbacks.on_start(replace(start, title=title)))
    measurement = measure(graph, model, probe, callbacks=titled, **arguments)
    progress = measurement.progress
    answered = progress.done - progress.unanswered
    if not measurement.complete or answered == 0 < progress.facts:
        of = f" of {title}" if title else ""
        reason = f" {progress.reason}" if progress.reason else ""
        raise KgprobeError(
            f"Stopped after {answered:,} of {progress.facts:,} facts{of}; repeat the call to resume.{reason}"
        )
    return measurement


def folders_of(measurements: Mapping[str, Measurement], seed: int) -> dict[str, Any]:
    """Return the folders of measurements by title, and the seed, as settings of a study."""
    return {"measurements": {name: str(measurement.folder) for name, measurement in measurements.items()}, "seed": seed}


def same_facts(
    graph: Graph,
    relations: Sequence[str],
    *,
    limit: int | None,
    facts: "Listed | None",
    balance: str | None,
    with_former: bool,
    seed: int,
    as_of: int | str | date | None,
    models: Models | None,
) -> tuple[dict[str, Any], Sequence[str]]:
    """Choose facts; return the arguments of several measurements of them, and messages.

    The messages are about listed facts that are missing, and on the drawing.
    """
    draw = make_options(DrawOptions, {"balance": balance, "with_former": with_former}, "a study")
    day, seed = as_of_day(as_of), whole_number("seed", seed, 0)
    listed = None if facts is None else list_existing(graph, facts, day)
    limit = optional_number("limit", limit)
    chosen = choose_facts(graph, relations, as_of=day, listed=listed, limit=limit, seed=seed, draw=draw)
    keys: list[FactKey] = [chosen.keys[place] for place in range(len(chosen.keys))]
    common: dict[str, Any] = {"facts": keys, "relations": relations, "seed": seed, "as_of": day}
    return common | {"models": models or Models()}, [*chosen.missing, *chosen.notes]
