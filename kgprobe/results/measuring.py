"""Measure facts of a graph: choose them, ask each once by a probe, and keep the answers."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from kgprobe.base.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import reversal_of
from kgprobe.graph.state import graph_state, last_changes
from kgprobe.models.model import Model
from kgprobe.probes.register import PROBES, ProbeContext
from kgprobe.results.measurement import Measurement
from kgprobe.running.asking import Asking
from kgprobe.running.callbacks import Callbacks
from kgprobe.running.measurement import MEASUREMENT, check_helpers, check_name, keep_answers
from kgprobe.running.settings import LAST_CHANGES, note_of_dates, read_config
from kgprobe.sampling.drawing import Draw
from kgprobe.sampling.selection import checked_draw, choose_facts, list_existing


def measure_facts(
    graph: Graph, model: Model | str, probe: str, draw: Draw, asking: Asking, options: Mapping[str, Any]
) -> Measurement:
    """Ask a model about facts of a graph, once each, and keep the answers; see :func:`kgprobe.measure`."""
    kind = PROBES.get(probe)
    chosen_options = kind.options_from(options)
    draw, asking = checked_draw(draw, "measure"), asking.checked()
    # Validate what needs neither the graph nor a loaded model first.
    asked = asking.models.open_asked(model)
    check_helpers(asking.models, asked, options)
    check_name(asking.name, kind, chosen_options, draw.seed, asked)
    relations = relation_ids(graph, draw.relations)
    listed = None if draw.facts is None else list_existing(graph, draw.facts, draw.as_of)
    asked.refresh()
    made_probe = kind.make(ProbeContext(graph, asked, asking.models, draw.as_of, relations), chosen_options)
    chosen = choose_facts(
        graph, made_probe.relations, as_of=draw.as_of, listed=listed, limit=draw.limit, seed=draw.seed, draw=draw
    )
    reversal = reversal_of(graph)
    settings = {
        "facts": chosen.identity,
        "as_of": draw.as_of,
        "graph": graph_state(graph),
        LAST_CHANGES: last_changes(graph, draw.as_of),
        "reversed": reversal is not None,
        "reversed_of": None if reversal is None else reversal.of,
    }
    folder, progress = keep_answers(made_probe, kind, chosen_options, chosen.keys, draw.seed, settings, asked, asking)
    stored = read_config(folder, MEASUREMENT)
    notes = [*chosen.notes, *filter(None, [note_of_dates([stored, settings])])]
    return Measurement(folder, kind, stored, progress, chosen.missing, graph, notes)


def measure_to_the_end(
    graph: Graph, model: Model | str, probe: str, callbacks: Callbacks, title: str = "", **arguments: Any
) -> Measurement:
    """Measure to the end, with the arguments of :func:`kgprobe.measure`; raise KgprobeError if it is interrupted."""
    drawing, own = (
        {field.name: arguments.pop(field.name) for field in fields(kind) if field.name in arguments}
        for kind in (Draw, Asking)
    )
    asking = Asking(**own, callbacks=callbacks.titled(title))
    measurement = measure_facts(graph, model, probe, Draw(**drawing), asking, arguments)
    progress = measurement.progress
    answered = progress.done - progress.unanswered
    if not measurement.complete or answered == 0 < progress.facts:
        of = f" of {title}" if title else ""
        reason = f" {progress.reason}" if progress.reason else ""
        raise KgprobeError(
            f"Stopped after {answered:,} of {progress.facts:,} facts{of}; repeat the call to resume.{reason}"
        )
    return measurement
