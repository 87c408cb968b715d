"""How well measures agree with people: Kendall's τ with human scores, cross-validated.

Section 4.2 of the distractor paper; docs/methods.md, 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.analysis.calibration import calibrate
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.sampling.keys import FactKey
from kgprobe.studies.measures import Scores
from kgprobe.studies.notes import counted
from kgprobe.studies.study import Line, Plot, Study

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
    """

    keys: Sequence[FactKey]
    scores: Floats
    missing: Sequence[str]


def read_human_scores(scores: str | Path | Sequence[Mapping[str, Any]]) -> list[HumanScore]:
    """Human scores from a list of objects with subject, relation, object and human_score, or a JSON file of one.

    Raises:
        KgprobeError: the file cannot be read, or an entry is not of that form; the message names it.
    """
    try:
        if isinstance(scores, (str, Path)):
            return msgspec.json.decode(Path(scores).read_bytes(), type=list[HumanScore])
        return msgspec.convert(scores, type=list[HumanScore])
    except OSError as error:
        raise KgprobeError(f"{scores} cannot be read: {error.strerror}.") from error
    except msgspec.ValidationError as error:
        where = scores if isinstance(scores, (str, Path)) else "`scores`"
        raise KgprobeError(f"{where}: {error}.") from error
    except msgspec.DecodeError as error:
        raise KgprobeError(f"{scores} is no JSON: {error}.") from error


def find_scored(graph: Graph, scores: Sequence[HumanScore]) -> Scored:
    """The facts of the graph that have human scores, in their order. Cost: a walk from each subject."""
    rows = [
        {"index": index, "subject": score.subject, "relation": score.relation, "object": score.object}
        for index, score in enumerate(scores)
    ]
    found: dict[int, FactKey] = {}
    for row in graph.read("sample/triples", rows=rows):
        found.setdefault(row["index"], FactKey(row["subject"], row["fact"]))
    missing = ["the graph has no such fact"] * (len(scores) - len(found))
    return Scored(
        list(found.values()), np.array([scores[index].human_score for index in found], dtype=np.float64), missing
    )


def calibration_study(
    measure: Callable[[str], Scores],
    names: Sequence[str],
    scores: Floats,
    left_out: Sequence[str],
    model: str,
    config: Mapping[str, Any],
    *,
    folds: int = 3,
    seed: int = 0,
) -> Study:
    """The agreement of every measure with people.

    Args:
        measure: gives a measure of the facts by its name.
        names: of the measures.
        scores: what people found, shape (facts,).
        left_out: why human scores are not among them, one message each.
        model: what was asked.
        config: what the numbers depend on.
        folds: of the cross-validation.
        seed: of the facts' order, the same for every measure.
    """
    table: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    reasons: list[str] = []
    untried: list[str] = []
    for name in names:
        measured = measure(name)
        reasons += [f"{name}: {reason}" for reason in measured.reasons.values()]
        try:
            found = calibrate(measured.values, scores, folds=folds, seed=seed)
        except KgprobeError as error:
            # One measure that has hardly a value must not cost the others theirs.
            untried.append(f"{name} is left out. {error}")
            continue
        table.append(
            {"measure": name, "mean τ": found.mean, "deviation": found.deviation, "facts": found.facts}
            | {f"best of fold {n}": _told(measured.configurations[fold.best]) for n, fold in enumerate(found.folds, 1)}
        )
        for number, fold in enumerate(found.folds, start=1):
            best = _told(measured.configurations[fold.best])
            data.append(
                {"measure": name, "fold": number, "τ": fold.tau, "facts": fold.facts, "best": best}
                | {"τ in training": fold.training}
            )
    table.sort(key=lambda row: -row["mean τ"])
    lines = [Line(row["measure"], [place], [row["mean τ"]], points=True) for place, row in enumerate(table, start=1)]
    return Study(
        name="calibration",
        title=f"Agreement with people · {model} · {len(scores):,} facts",
        data=data,
        table=table,
        plots=[
            Plot(
                "Agreement with people",
                "measure, best first",
                f"Kendall's τ, mean over {folds} folds",
                lines,
                y_range=(-1.0, 1.0),
            )
        ],
        notes=[
            f"In each of {folds} folds, the configuration that is best on the other facts is tried on the fold's own.",
            *untried,
            *counted("Not among them", left_out),
            *counted("No value", reasons),
        ],
        config=config,
    )


def _told(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{option} = {value}" for option, value in options.items())
