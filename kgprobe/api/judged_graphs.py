"""``kgprobe.judged_graph``: figures of a judged graph, corrected by labels."""

from collections.abc import Sequence
from pathlib import Path

from kgprobe.analysis.label_correction import Correction, LabelledMetrics, correct_by_labels, labelled_metrics
from kgprobe.analysis.whole_graph import COLUMNS, WholeGraph, whole_graph
from kgprobe.api.measuring import open_measurement
from kgprobe.arguments import whole_number
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home
from kgprobe.judge.judged_facts import (
    PredictionConfig,
    is_judged_graph,
    read_judged_graph,
    read_names,
    stream_judged_facts,
)
from kgprobe.judge.labelled import labelled_statements, set_aside
from kgprobe.results.judged_graph import TYPES, JudgedGraph
from kgprobe.results.measurement import Measurement
from kgprobe.running.claims import CONFIG
from kgprobe.running.predictions import missing_shards
from kgprobe.sampling.selection import SEEDED_ORDER

_UNCORRECTED = "Figures are the judge's own, not corrected by labels, and as biased as the judge"
# Characters of a value, and relations, in a message.
_SHOWN = 120
_NAMED = 5


def judged_graph(
    sweep: str | Path, labels: Measurement | str | Path | None = None, *, raw: bool = False, types: int = TYPES
) -> JudgedGraph:
    """Return the figures of a judged graph, by relation, type and popularity, corrected by labels of some facts.

    >>> kgprobe.judged_graph("everything", "my-labels").summary()  # doctest: +SKIP

    Cost: one pass over all judged facts. Memory: relations, types, distinct degrees and popularities, and the labelled
    facts.

    Args:
        sweep: folder of the judged graph, or its name in kgprobe's own folder.
        labels: measurement of the probe ``labels`` on the same graph, or its name; None takes the judge's own labels if
            they exist.
        raw: True to omit the correction.
        types: number of types of subjects, and of objects, in tables; rows and JSON have all.

    Raises:
        ArgumentError: the labels are of another probe, graph, model, selection of facts, or of other negatives.
        KgprobeError: no such judged graph, or a file is unreadable.
    """
    types = whole_number("types", types)
    if raw and labels is not None:
        raise ArgumentError("labels", "and `raw`, which omits the correction, exclude each other.")
    own, path = home() / "sweeps" / sweep, Path(sweep)
    folder = path if is_judged_graph(path) and not is_judged_graph(own) else own
    config = read_judged_graph(folder)
    missing = missing_shards(folder, range(config.shards))
    own = home() / "probes" / config.judge.labels
    notes: list[str] = []
    measured, why = (None, "`raw` omits the correction") if raw else _labels_or_why(config, labels, own)
    if missing:
        measured = None
        notes.append(
            f"{len(missing):,} of {config.shards:,} shards are missing: figures are of the others only, and estimates"
            " for the graph are not possible."
        )
    elif measured is None:
        notes.append(f"{_UNCORRECTED}: {why}")
    facts = [] if measured is None else labelled_metrics(measured.outcomes)
    present = sorted(set(range(config.shards)) - set(missing))
    figures = whole_graph(stream_judged_facts(folder, present, COLUMNS), [fact.fact for fact in facts])
    if not missing and figures.facts != config.facts:
        raise KgprobeError(f"{folder} has {figures.facts:,} facts; expected {config.facts:,}. Judge them again.")
    correction = None if measured is None else _correct(config, figures, measured, facts, own, notes)
    return JudgedGraph(
        folder=folder,
        config=config,
        missing=missing,
        graph=figures,
        correction=correction,
        types=types,
        names=read_names(folder),
        notes=notes,
    )


def _correct(
    config: PredictionConfig,
    figures: WholeGraph,
    measured: Measurement,
    facts: Sequence[LabelledMetrics],
    own: Path,
    notes: list[str],
) -> Correction:
    """Return the figures corrected by labels, without facts in the judge's training set; add a note if unknown."""
    learned = _learned(config, measured, own)
    if learned is None:
        notes.append(
            f"The judge's own labels, {own}, are missing: facts of {measured.folder.name} in its training set, if"
            " any, count too, and make its figures too good."
        )
    return correct_by_labels(figures, measured.folder.name, facts, learned or frozenset())


def _labels_or_why(
    config: PredictionConfig, labels: Measurement | str | Path | None, own: Path
) -> tuple[Measurement | None, str]:
    """Return labels that correct the figures, or the reason why there are none.

    Raises:
        ArgumentError: the given labels are unusable.
    """
    if labels is not None:
        measured = labels if isinstance(labels, Measurement) else open_measurement(labels)
        _refuse(config, measured)
        return measured, ""
    if not (own / CONFIG).exists():
        return None, f"the judge's labels, {own}, are missing."
    measured = open_measurement(own)
    try:
        _refuse(config, measured)
    except ArgumentError as error:
        return None, f"the judge's {error}"
    return measured, ""


def _refuse(config: PredictionConfig, measured: Measurement) -> None:
    """Raise an error unless labels are a random sample of the judged facts."""
    name = measured.folder.name
    if measured.kind.name != "labels":
        raise ArgumentError("labels", f"is a measurement of {measured.kind.name}; expected one of the probe labels.")
    if "sha256" in measured.config["facts"]:
        raise ArgumentError(
            "labels",
            f"of {name} are of a list of facts, which is not a random sample of the graph: measure with a limit, or"
            " omit the correction (`raw`).",
        )
    options = measured.config["options"]
    compared = {
        "the answers of": (measured.model, config.judge.answers_of),
        "the graph": (measured.config["graph"], config.graph),
        "the date": (measured.config["as_of"], config.settings.as_of),
        "negatives with another": (options["replace"], config.settings.replace),
        "any type": (options["any_type"], config.settings.any_type),
    }
    # The part of a uniform sample in some relations is a uniform sample of these.
    missing = sorted(set(config.settings.relations) - set(measured.config["relations"]))
    if missing:
        relations = ", ".join(missing[:_NAMED]) + (
            f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        )
        raise ArgumentError(
            "labels",
            f"of {name} are not a sample of the judged facts: they have none of the relations {relations}. Choose other"
            " labels, or `raw`.",
        )
    for what, (theirs, ours) in compared.items():
        if theirs != ours:
            raise ArgumentError(
                "labels",
                f"of {name} have {what} {_short(theirs)}; the judged graph has {_short(ours)}. They are not"
                " a sample of the judged facts: choose other labels, or `raw`.",
            )
    if measured.config["facts"].get("order") != SEEDED_ORDER:
        raise ArgumentError(
            "labels",
            f"of {name} are of facts in the order of their ids, by an older version of kgprobe. Measure them again, or"
            " omit the correction (`raw`).",
        )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _learned(config: PredictionConfig, measured: Measurement, own: Path) -> frozenset[str] | None:
    """Return ids of the facts in the judge's training set; None if its labels are missing."""
    if measured.folder.name == config.judge.labels:
        trained = measured
    elif (own / CONFIG).exists():
        trained = open_measurement(own)
    else:
        return None
    facts = labelled_statements(trained.outcomes).facts
    aside = set_aside(facts, config.judge.aside, config.judge.seed)
    return frozenset(fact for fact, out in zip(facts, aside, strict=True) if not out)
