"""Measurements of a study: the same facts, asked by a probe with different options."""

from collections.abc import Mapping, Sequence
from typing import Any

from kgprobe.graph.client import Graph
from kgprobe.models.model import Models
from kgprobe.papers.studies.options import Measuring
from kgprobe.results.measurement import Measurement
from kgprobe.sampling.drawing import Draw
from kgprobe.sampling.selection import checked_draw, choose_facts, list_existing


def folders_of(measurements: Mapping[str, Measurement], seed: int) -> dict[str, Any]:
    """Return the folders of measurements by title, and the seed, as settings of a study."""
    return {"measurements": {name: str(measurement.folder) for name, measurement in measurements.items()}, "seed": seed}


def same_facts(
    graph: Graph, relations: Sequence[str], drawing: Measuring, seed: int, models: Models
) -> tuple[dict[str, Any], Sequence[str]]:
    """Choose facts of these relations; return the arguments of several measurements of them, and messages.

    The messages are about listed facts that are missing, and on the drawing.
    """
    names = ("balance", "with_former", "facts", "limit", "as_of")
    given: dict[str, Any] = {name: drawing[name] for name in names if name in drawing}  # type: ignore[literal-required]
    draw = checked_draw(Draw(**given, seed=seed), "a study")
    listed = None if draw.facts is None else list_existing(graph, draw.facts, draw.as_of)
    chosen = choose_facts(
        graph, relations, as_of=draw.as_of, listed=listed, limit=draw.limit, seed=draw.seed, draw=draw
    )
    keys = [chosen.keys[place] for place in range(len(chosen.keys))]
    common = {"facts": keys, "relations": relations, "seed": draw.seed, "as_of": draw.as_of, "models": models}
    return common, [*chosen.missing, *chosen.notes]
