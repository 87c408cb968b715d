"""``kgprobe.measure``: ask a list of facts once each, by one probe."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from kgprobe.api.options import Asking, Draw
from kgprobe.base.arguments import optional_folder_name, optional_number, several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.files import home
from kgprobe.base.options import documented, make_options
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import asked_by, reversal_of
from kgprobe.graph.state import graph_state, last_changes
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import short_name
from kgprobe.probes.register import PROBES, ProbeContext, ProbeKind
from kgprobe.results.measurement import Measurement
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.running.measurement import MEASUREMENT, ask_each
from kgprobe.running.settings import (
    CONFIG,
    LAST_CHANGES,
    digest_of,
    keep_declined,
    note_of_dates,
    read_config,
    require_identical,
    versions,
)
from kgprobe.sampling.drawing import DrawOptions
from kgprobe.sampling.selection import Listed, choose_facts, list_existing

# Options that name models.
_HELPERS = ("writer", "grader")


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
    kind = PROBES.get(probe)
    chosen_options = kind.options_from(options)
    seed, limit, name = whole_number("seed", seed, 0), optional_number("limit", limit), optional_folder_name(name)
    batch_size = optional_number("batch_size", batch_size)
    day = as_of_day(as_of)
    draw = make_options(DrawOptions, {"balance": balance, "with_former": with_former}, "measure")
    # Validate what needs neither the graph nor a loaded model first.
    opened = models or Models()
    asked_model = opened.open_asked(model)
    check_helpers(opened, asked_model, options)
    check_name(name, kind, chosen_options, seed, asked_model)
    relations = relation_ids(graph, several("relations", relations))
    listed = None if facts is None else list_existing(graph, facts, day)
    asked_model.refresh()
    context = ProbeContext(graph, asked_model, opened, day, relations)
    made_probe = kind.make(context, chosen_options)
    chosen = choose_facts(
        graph, made_probe.relations, as_of=context.as_of, listed=listed, limit=limit, seed=seed, draw=draw
    )
    reversal = reversal_of(graph)
    config = {
        "probe": kind.name,
        "options": asdict(chosen_options),
        "described": made_probe.describe(),
        "relations": list(made_probe.relations),
        "facts": chosen.identity,
        "seed": seed,
        "as_of": context.as_of,
        "graph": graph_state(graph),
        LAST_CHANGES: last_changes(graph, day),
        "reversed": reversal is not None,
        "reversed_of": None if reversal is None else reversal.of,
        "versions": versions(),
    }
    folder = home() / "probes" / (measurement_name(kind.name, config) if name is None else name)
    batch = batch_size or opened.asked_together(asked_model) or kind.batch_size
    progress = ask_each(made_probe, chosen.keys, seed, folder, config, batch=batch, callbacks=callbacks)
    keep_declined(folder, opened.spending.declined)
    stored = read_config(folder, MEASUREMENT)
    notes = [*chosen.notes, *filter(None, [note_of_dates([stored, config])])]
    return Measurement(folder, kind, stored, progress, chosen.missing, graph, notes)


def check_helpers(models: Models, asked: Model, options: Mapping[str, Any]) -> None:
    """Open the models that options name, to report a wrong spec or a missing folder; none is loaded."""
    for role in _HELPERS:
        if options.get(role) is not None:
            models.open(options[role])
    models.check_batch_api(asked)


def check_name(name: str | None, kind: ProbeKind, options: Any, seed: int, model: Model) -> None:
    """Raise KgprobeError if a name belongs to a measurement of another model, probe, seed or other options."""
    folder = home() / "probes" / (name or "")
    if name is not None and (folder / CONFIG).exists():
        stored = read_config(folder, MEASUREMENT)
        known = {"probe": kind.name, "options": asdict(options), "seed": seed, "described": {"model": model.name}}
        own_part = {**{key: stored.get(key) for key in known}, "described": {"model": model_of(stored)}}
        require_identical(folder, own_part, known, MEASUREMENT)


def model_of(config: Mapping[str, Any]) -> str | None:
    """Return the spec of the model in the settings of a measurement; None if they lack it."""
    described = config.get("described")
    return str(described.get("model")) if isinstance(described, Mapping) else None


def measurement_name(probe: str, config: Mapping[str, Any]) -> str:
    """Return the name of a measurement's folder, from its model and probe, and a digest of its settings."""
    probe_slug = asked_by(probe, config["reversed"]).replace(" ", "-")
    return f"{short_name(str(config['described']['model']))}-{probe_slug}-{digest_of(config)}"
