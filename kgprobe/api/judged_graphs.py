"""``kgprobe.judged_graph``: the figures of a whole graph that a judge has judged, corrected by labels."""

from pathlib import Path

from kgprobe.analysis.label_correction import LabelledMetrics, correct_by_labels, labelled_metrics
from kgprobe.analysis.whole_graph import COLUMNS, whole_graph
from kgprobe.api.measuring import open_measurement
from kgprobe.arguments import whole_number
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import home
from kgprobe.judge.judged_facts import SweepConfig, is_sweep, read_names, read_sweep, stream_judged_facts
from kgprobe.judge.labelled import labelled_statements, set_aside
from kgprobe.results.judged_graph import TYPES, JudgedGraph
from kgprobe.results.measurement import Measurement
from kgprobe.running.claims import CONFIG
from kgprobe.running.predictions import missing_shards
from kgprobe.sampling.selection import SEEDED_ORDER

_UNCORRECTED = "Figures are the judge's own, not corrected by labels, and as biased as it is"
# Characters of a value in a message, and relations.
_SHOWN = 120
_NAMED = 5


def judged_graph(
    sweep: str | Path, labels: Measurement | str | Path | None = None, *, raw: bool = False, types: int = TYPES
) -> JudgedGraph:
    """The figures of a judged graph: by relation, type and popularity, corrected by the model's own answers to a few.

    >>> kgprobe.judged_graph("everything", "my-labels").summary()  # doctest: +SKIP

    Cost: one reading of all judged facts. Memory: what grows with relations, types, distinct degrees and popularities,
    and with the labelled facts.

    Args:
        sweep: the folder of the judged graph, or its name below kgprobe's own.
        labels: a measurement of the probe ``labels`` of the same graph, or its name; None takes the judge's own where
            they are there.
        raw: leave the correction out.
        types: how many types of subjects, and of objects, tables show; all are in the rows and in JSON.

    Raises:
        ArgumentError: the labels are of another probe, graph, model, choice of facts, or of other negatives.
        KgprobeError: there is no judged graph, or a file of it cannot be read.
    """
    types = whole_number("types", types)
    if raw and labels is not None:
        raise ArgumentError("labels", "are told beside `raw`, which leaves the correction out.")
    own, path = home() / "sweeps" / sweep, Path(sweep)
    folder = path if is_sweep(path) and not is_sweep(own) else own
    config = read_sweep(folder)
    missing = missing_shards(folder, range(config.shards))
    own = home() / "probes" / config.judge.labels
    notes: list[str] = []
    measured, why = (None, "`raw` leaves the correction out") if raw else _labels_or_why(config, labels, own)
    facts: list[LabelledMetrics] = []
    if missing:
        notes.append(
            f"{len(missing):,} of {config.shards:,} shards are not there yet: figures are of those that are, not of the"
            " graph, and nothing can be estimated."
        )
    elif measured is None:
        notes.append(f"{_UNCORRECTED}: {why}")
    else:
        facts = labelled_metrics(measured.outcomes)
    present = sorted(set(range(config.shards)) - set(missing))
    told = whole_graph(stream_judged_facts(folder, present, COLUMNS), [one.fact for one in facts])
    if not missing and told.facts != config.facts:
        raise KgprobeError(f"{folder} has {told.facts:,} facts where {config.facts:,} are expected; judge them anew.")
    correction = None
    if measured is not None and not missing:
        learned = _learned(config, measured, own)
        if learned is None:
            notes.append(
                f"The judge's own labels, {own}, are not there: facts of {measured.folder.name} that the judge has"
                " learned from, if there are any, count too, and flatter it."
            )
        correction = correct_by_labels(told, measured.folder.name, facts, learned or frozenset())
    return JudgedGraph(
        folder=folder,
        config=config,
        missing=missing,
        graph=told,
        correction=correction,
        types=types,
        names=read_names(folder),
        notes=notes,
    )


def _labels_or_why(
    config: SweepConfig, labels: Measurement | str | Path | None, own: Path
) -> tuple[Measurement | None, str]:
    """Labels that correct the figures, or why there are none.

    Raises:
        ArgumentError: labels that were named cannot.
    """
    if labels is not None:
        measured = labels if isinstance(labels, Measurement) else open_measurement(labels)
        _refuse(config, measured)
        return measured, ""
    if not (own / CONFIG).exists():
        return None, f"the judge's labels, {own}, are not there."
    measured = open_measurement(own)
    try:
        _refuse(config, measured)
    except ArgumentError as error:
        return None, f"the judge's {error}"
    return measured, ""


def _refuse(config: SweepConfig, measured: Measurement) -> None:
    """See that labels are a sample of what was judged."""
    name = measured.folder.name
    if measured.kind.name != "labels":
        raise ArgumentError("labels", f"is a measurement of {measured.kind.name}; one of the probe labels is expected.")
    if "sha256" in measured.config["facts"]:
        raise ArgumentError(
            "labels",
            f"are of a list of facts in {name}, which is no random sample of the graph: measure with a limit, or leave"
            " the correction out (`raw`).",
        )
    options = measured.config["options"]
    compared = {
        "the answers of": (measured.model, config.judge.answers_of),
        "the graph": (measured.config["graph"], config.graph),
        "the date": (measured.config["as_of"], config.settings.as_of),
        "negatives with another": (options["replace"], config.settings.replace),
        "any type": (options["any_type"], config.settings.any_type),
    }
    # Of a uniform sample, what is of some relations is a uniform sample of these.
    missing = sorted(set(config.settings.relations) - set(measured.config["relations"]))
    if missing:
        named = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
        raise ArgumentError(
            "labels",
            f"of {name} are of other relations: none is of {named}, of which facts were judged. They are no sample of"
            " what was judged: choose others, or `raw`.",
        )
    for what, (theirs, ours) in compared.items():
        if theirs != ours:
            raise ArgumentError(
                "labels",
                f"of {name} have {what} {_short(theirs)}; the judged graph has {_short(ours)}. They are no"
                " sample of what was judged: choose others, or `raw`.",
            )
    if measured.config["facts"].get("order") != SEEDED_ORDER:
        raise ArgumentError(
            "labels",
            f"of {name} are of facts in the order of their ids, as kgprobe asked them before. Measure them again, or"
            " leave the correction out (`raw`).",
        )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _learned(config: SweepConfig, measured: Measurement, own: Path) -> frozenset[str] | None:
    """Ids of the facts that the judge has learned from; None where its labels are not there."""
    if measured.folder.name == config.judge.labels:
        trained = measured
    elif (own / CONFIG).exists():
        trained = open_measurement(own)
    else:
        return None
    facts = labelled_statements(trained.outcomes).facts
    aside = set_aside(facts, config.judge.aside, config.judge.seed)
    return frozenset(fact for fact, out in zip(facts, aside, strict=True) if not out)
