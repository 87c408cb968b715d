"""How well measures agree with people: Kendall's τ with human scores, cross-validated.

Section 4.2 of the distractor paper; docs/methods/studies.md.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.calibration import Calibration, calibrate
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.report.plots import Category, CategoryPlot
from kgprobe.sampling.keys import FactKey
from kgprobe.studies.measures import Scores
from kgprobe.studies.notes import counted
from kgprobe.studies.study import Study

Floats = NDArray[np.float64]


class HumanScore(msgspec.Struct, frozen=True):
    """What people found of one fact.

    Attributes:
        subject, relation, object: ids.
        human_score: the share of people who found that the model knows it, in [0, 1].
    """

    subject: str
    relation: str
    object: str
    human_score: Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class Scored:
    """Facts of a graph with what people found of them.

    Attributes:
        keys: of the facts.
        scores: theirs, shape (facts,).
        missing: messages about scores whose fact the graph has not.
        repeated: how many scores are of a fact that has one before.
    """

    keys: Sequence[FactKey]
    scores: Floats
    missing: Sequence[str]
    repeated: int = 0


def read_human_scores(scores: str | Path | Sequence[Mapping[str, Any]]) -> list[HumanScore]:
    """Human scores from a list of objects with subject, relation, object and human_score, or a file of them.

    The file is JSON, or a table with a header: comma, tab and semicolon are told apart by it.

    Raises:
        KgprobeError: the file cannot be read, or an entry is not of that form; the message names it.
    """
    try:
        if isinstance(scores, (str, Path)):
            written = _content(Path(scores))
            if written.lstrip()[:1] in (b"[", b"{", b""):
                return msgspec.json.decode(written, type=list[HumanScore])
            return _of_table(Path(scores), written)
        return msgspec.convert(scores, type=list[HumanScore])
    except msgspec.ValidationError as error:
        where = scores if isinstance(scores, (str, Path)) else "`scores`"
        raise KgprobeError(f"{where}: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KgprobeError(f"{scores} is no JSON: {error}.") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise KgprobeError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _of_table(path: Path, written: bytes) -> list[HumanScore]:
    """Human scores of a table with a header; columns beside those that are needed have no say."""
    try:
        text = written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KgprobeError(f"{path} is no UTF-8: {error.reason} at byte {error.start}.") from error
    header = text.partition("\n")[0]
    delimiter = max(",\t;", key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = HumanScore.__struct_fields__
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise KgprobeError(f"{path}: there is no column {', '.join(missing)}; it needs {', '.join(columns)}.")
        return [_of_row(path, reader.line_num, {column: row[column] for column in columns}) for row in reader]
    except csv.Error as error:
        raise KgprobeError(f"{path}, line {reader.line_num + 1}: no line of a table: {error}.") from error


def _of_row(path: Path, line: int, row: Mapping[str, str | None]) -> HumanScore:
    try:
        return msgspec.convert(row, HumanScore, strict=False)
    except msgspec.ValidationError as error:
        raise KgprobeError(f"{path}, line {line}: {error}.") from error


def find_scored(graph: Graph, scores: Sequence[HumanScore]) -> Scored:
    """The facts of the graph that have human scores, in their order. Cost: a walk from each subject.

    A fact with several scores counts once, with their mean: in several rows it could be in several folds.
    """
    rows = [
        {"index": index, "subject": score.subject, "relation": score.relation, "object": score.object}
        for index, score in enumerate(scores)
    ]
    found: dict[int, FactKey] = {}
    for row in graph.read("sample/triples", rows=rows):
        found.setdefault(row["index"], FactKey(row["subject"], row["fact"]))
    missing = ["the graph has no such fact"] * (len(scores) - len(found))
    of_facts: dict[FactKey, list[float]] = {}
    for index, key in found.items():
        of_facts.setdefault(key, []).append(scores[index].human_score)
    means = np.array([np.mean(its) for its in of_facts.values()], dtype=np.float64)
    return Scored(list(of_facts), means, missing, repeated=len(found) - len(of_facts))


def calibration_study(
    measure: Callable[[str], Scores],
    names: Sequence[str],
    scored: Scored,
    model: str,
    config: Mapping[str, Any],
    *,
    folds: int = 3,
    seed: int = 0,
) -> Study:
    """The agreement of every measure with people, ranked on the facts that all of them have a value of.

    A measure by which no fold could be judged is left out; and so are, one after the other, those with the fewest
    values, where too few facts would be left for the others.

    Args:
        measure: gives a measure of the facts by its name.
        names: of the measures.
        scored: what people found of the facts.
        model: what was asked.
        config: what the numbers depend on.
        folds: of the cross-validation.
        seed: of the facts' order, the same for every measure.
    """
    reasons: list[str] = []
    untried: list[str] = []
    measured: dict[str, Scores] = {}
    own: dict[str, Calibration] = {}
    for name in names:
        its = measure(name)
        reasons += [f"{name}: {reason}" for reason in its.reasons.values()]
        try:
            own[name] = calibrate(its.values, scored.scores, folds=folds, seed=seed)
        except KgprobeError as error:
            # One measure that has hardly a value must not cost the others theirs.
            untried.append(f"{name} is left out. {error}")
        else:
            measured[name] = its
    ranked, dropped = _ranked(measured, scored.scores, folds, seed)
    table: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    for name, found in ranked.items():
        best = [_told(measured[name].configurations[fold.best]) for fold in found.folds]
        table.append(
            {"measure": name, "mean τ": found.mean, "deviation": found.deviation, "facts": found.facts}
            | {"own facts": own[name].facts, "τ on own facts": own[name].mean}
            | {f"best of fold {number}": told for number, told in enumerate(best, start=1)}
        )
        data += [
            {"measure": name, "fold": number, "τ": fold.tau, "facts": fold.facts, "best": told}
            | {"τ in training": fold.training, "own facts": own[name].facts}
            for number, (fold, told) in enumerate(zip(found.folds, best, strict=True), start=1)
        ]
    table.sort(key=lambda row: -row["mean τ"])
    return Study(
        name="calibration",
        title=f"Agreement with people · {model} · {len(scored.scores):,} facts",
        verdict=_verdict(table, folds),
        data=data,
        table=table,
        plots=[
            CategoryPlot(
                "Agreement with people",
                f"Kendall's τ, mean over {folds} folds; whiskers: the least and the greatest of them",
                [
                    Category(name, found.mean, min(taus), max(taus))
                    for name, found in sorted(ranked.items(), key=lambda one: -one[1].mean)
                    for taus in [[fold.tau for fold in found.folds]]
                ],
                (-1.0, 1.0),
            )
        ],
        notes=[
            f"In each of {folds} folds, the configuration that is best on the other facts is tried on the fold's own.",
            *_judged_on(ranked, measured, len(scored.scores)),
            *untried,
            *dropped,
            *_repeated(scored.repeated),
            *counted("Not among them", scored.missing),
            *counted("No value", reasons),
        ],
        config=config,
    )


def _ranked(
    measured: Mapping[str, Scores], scores: Floats, folds: int, seed: int
) -> tuple[dict[str, Calibration], list[str]]:
    """The calibration of measures on the facts that all of them have, and a sentence on each that is not among them."""
    left = dict(measured)
    dropped: list[str] = []
    while left:
        common = _common(left)
        try:
            ranked = {
                name: calibrate(np.where(common[:, None], its.values, np.nan), scores, folds=folds, seed=seed)
                for name, its in left.items()
            }
        except KgprobeError:
            fewest = _fewest(left)
            del left[fewest]
            dropped.append(f"{fewest} is not ranked: with it, {int(common.sum()):,} facts would be left for all.")
        else:
            return ranked, dropped
    return {}, dropped


def _common(measured: Mapping[str, Scores]) -> NDArray[np.bool_]:
    """The facts that all of these measures have a value of in each configuration."""
    common: NDArray[np.bool_] = np.logical_and.reduce([~np.isnan(its.values).any(axis=1) for its in measured.values()])
    return common


def _fewest(measured: Mapping[str, Scores]) -> str:
    return min(measured, key=lambda name: int(_common({name: measured[name]}).sum()))


def _judged_on(ranked: Mapping[str, Calibration], measured: Mapping[str, Scores], facts: int) -> list[str]:
    """On how many facts measures are ranked, and which of them costs most."""
    if not ranked:
        return []
    common = next(iter(ranked.values())).facts
    told = (
        f"All are ranked on the {common:,} of {facts:,} facts that each has a value of; own facts: those that one has"
    )
    fewest = _fewest({name: measured[name] for name in ranked})
    others = {name: measured[name] for name in ranked if name != fewest}
    if others and (more := int(_common(others).sum())) > common:
        return [f"{told}. Without {fewest} there would be {more:,}."]
    return [f"{told}."]


def _repeated(scores: int) -> list[str]:
    if not scores:
        return []
    return [f"{scores:,} scores are of a fact that has one already; a fact counts once, with the mean of its scores."]


def _verdict(table: Sequence[Mapping[str, Any]], folds: int) -> str:
    if not table:
        return "No measure has values of enough facts to be judged."
    best, *others = [f"{row['measure']} (τ {row['mean τ']:.3f} ± {row['deviation']:.3f})" for row in table]
    told = f", followed by {others[0]}" if others else ""
    return f"{best} agrees best with people{told}: means over {folds} folds of {table[0]['facts']:,} facts."


def _told(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{option} = {value}" for option, value in options.items())
