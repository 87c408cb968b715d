"""``kgprobe.measure``: a list of facts, each asked once by one probe."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from kgprobe.arguments import folder_name, several, whole_number
from kgprobe.dates import as_of_day
from kgprobe.errors import KgprobeError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import asked_by, reversal_of
from kgprobe.graph.state import graph_state
from kgprobe.models.model import Model, Models
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.register import PROBES, ProbeContext, ProbeKind
from kgprobe.results.measurement import Measurement
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks, Stop
from kgprobe.running.claims import CONFIG, read_config
from kgprobe.running.identity import digest_of, versions
from kgprobe.running.measurement import MEASUREMENT, Asked, ask_each, read_measurement
from kgprobe.running.store import FILE, Outcomes
from kgprobe.sampling.selection import Chosen, Listed, choose_facts, list_facts


def measure(
    graph: Graph,
    model: Model | str,
    probe: str = "distractors",
    *,
    limit: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
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
    >>> result.asked.facts, len(result.to_frame())
    (4, 4)

    The same call goes on with what an interrupted one began, and shows what a finished one found. A model that was
    trained in between is another model: its weights are a part of what tells measurements apart.

    Cost: that of the probe, a batch at a time. Memory: the keys of the facts, and one batch.

    Args:
        model: see :func:`kgprobe.load_model`; its spec will do.
        probe: how facts are asked: ``distractors``, ``questions``, ``examples``, or another that is installed.
        limit: the most facts that are asked, drawn at random; None takes all. They are asked in random order, and the
            same seed draws the same facts for every probe and limit.
        facts: a list of facts: a file's path, see :func:`~kgprobe.sampling.selection.read_facts`, keys, or names such
            as ``"France | capital | Paris"``; None takes all that can be asked.
        relations: the only relations, each by its id or a name; none means all that can be asked.
        seed: what all random choices follow from.
        as_of: facts count as current at this date; None is today.
        batch_size: facts asked together; None takes the probe's own. Does not affect the answers.
        name: of the folder; None makes one from the settings.
        models: opens the models that options name by their specs; None opens them as needed.
        watch: told, and asked, as it goes.
        options: the probe's own; ``kgprobe probe PROBE --help`` lists them, with hyphens.

    Raises:
        UnknownNameError: there is no such probe, model or relation.
        ArgumentError: the probe has no such option, or a value cannot be.
        KgprobeError: the graph has no fact to ask; the folder belongs to another measurement, is in use, or cannot be
            written.
    """
    kind = PROBES.get(probe)
    chosen_options = kind.options_from({**kind.measured, **options})
    relations, seed = relation_ids(graph, several("relations", relations)), whole_number("seed", seed, 0)
    limit = None if limit is None else whole_number("limit", limit)
    name = None if name is None else folder_name("name", name)
    batch_size = kind.batch_size if batch_size is None else whole_number("batch_size", batch_size)
    day = as_of_day(as_of)
    # Whoever names what there is not shall know before a model is loaded.
    listed = None if facts is None else list_facts(graph, facts, day)
    opened = models or Models()
    asked_model = opened.open(model)
    asked_model.refresh()
    setting = ProbeContext(graph, asked_model, opened, day, relations)
    made = kind.make(setting, chosen_options)
    chosen = choose_facts(graph, made.relations, as_of=setting.as_of, listed=listed, limit=limit, seed=seed)
    reversal = reversal_of(graph)
    config = {
        "probe": kind.name,
        "options": asdict(chosen_options),
        "described": made.describe(),
        "relations": list(made.relations),
        "facts": chosen.identity,
        "seed": seed,
        "as_of": setting.as_of,
        "graph": graph_state(graph),
        "reversed": reversal is not None,
        "reversed_of": None if reversal is None else reversal.of,
        "versions": versions(),
    }
    folder = home() / "probes" / (_folder_name(kind, config) if name is None else name)
    asked = ask_each(made, chosen.keys, seed, folder, config, batch=batch_size, callbacks=callbacks)
    return _result(graph, folder, kind, asked, chosen)


def open_measurement(folder: str | Path, graph: Graph | None = None) -> Measurement:
    """A measurement that was made before.

    Args:
        folder: its folder, or its name below kgprobe's own.
        graph: the graph that was asked, for findings.

    Raises:
        KgprobeError: there is none.
    """
    path = find_measurement(folder)
    if path is None:
        raise KgprobeError(
            f"{folder} holds no measurement: {CONFIG} of one is neither in it nor in {home() / 'probes'}."
        )
    config = read_measurement(path)
    kind = PROBES.get(config["probe"])
    outcomes = Outcomes(path / FILE, kind.evidence())
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    done, unanswered = verdicts.total(), verdicts[Verdict.UNANSWERED]
    return Measurement(path, kind, config, Asked(done, done, unanswered, Stop.DONE), (), graph)


def find_measurement(named: str | Path) -> Path | None:
    """Return the folder of a measurement: that of this name below kgprobe's own, else the one at this path.

    A folder counts only if a measurement is in it: a model's may well have the name of a result.
    """
    own, path = home() / "probes" / named, Path(named)
    if not is_path(named) and (own / CONFIG).exists():
        return own
    return path if (path / CONFIG).exists() and "probe" in read_config(path, MEASUREMENT) else None


def is_path(named: str | Path) -> bool:
    """Return whether a text is the path of a folder and no name of a result: ``./tuned``, not ``tuned``."""
    return Path(named).name != str(named) or str(named) == ".."


def _result(graph: Graph, folder: Path, kind: ProbeKind, asked: Asked, chosen: Chosen) -> Measurement:
    return Measurement(folder, kind, read_config(folder, MEASUREMENT), asked, chosen.missing, graph)


def _folder_name(kind: ProbeKind, config: Mapping[str, Any]) -> str:
    model = str(config["described"]["model"]).removeprefix("hf:")
    slug = re.sub(r"[^A-Za-z0-9]+", "-", f"{model}-{asked_by(kind.name, config['reversed'])}").strip("-").lower()
    return f"{slug[-60:]}-{digest_of(config)}"
