"""Measurements of a study: the same facts, asked to the end by a probe with different options."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgprobe.api.measuring import measure
from kgprobe.base.arguments import optional_number, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import KgprobeError
from kgprobe.base.options import make_options
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model, Models
from kgprobe.papers.studies.options import Measuring
from kgprobe.results.measurement import Measurement
from kgprobe.running.callbacks import Callbacks
from kgprobe.sampling.drawing import DrawOptions
from kgprobe.sampling.selection import choose_facts, list_existing

if TYPE_CHECKING:
    from kgprobe.sampling.keys import FactKey


def measure_to_the_end(
    graph: Graph, model: Model | str, probe: str, callbacks: Callbacks, title: str = "", **arguments: Any
) -> Measurement:
    """Measure to the end."""
    measurement = measure(graph, model, probe, callbacks=callbacks.titled(title), **arguments)
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
    graph: Graph, relations: Sequence[str], drawing: Measuring, seed: int, models: Models
) -> tuple[dict[str, Any], Sequence[str]]:
    """Choose facts of these relations; return the arguments of several measurements of them, and messages.

    The messages are about listed facts that are missing, and on the drawing.
    """
    given: dict[str, Any] = {name: drawing[name] for name in ("balance", "with_former") if name in drawing}
    draw = make_options(DrawOptions, given, "a study")
    day, seed = as_of_day(drawing.get("as_of")), whole_number("seed", seed, 0)
    facts, limit = drawing.get("facts"), optional_number("limit", drawing.get("limit"))
    listed = None if facts is None else list_existing(graph, facts, day)
    chosen = choose_facts(graph, relations, as_of=day, listed=listed, limit=limit, seed=seed, draw=draw)
    keys: list[FactKey] = [chosen.keys[place] for place in range(len(chosen.keys))]
    common: dict[str, Any] = {"facts": keys, "relations": relations, "seed": seed, "as_of": day, "models": models}
    return common, [*chosen.missing, *chosen.notes]
