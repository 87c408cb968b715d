"""Study of the errors of sentences, from annotations by people: rates by kind and category, agreement of annotators.

Tables 5, 6 and 8 of the distractor paper; docs/methods/studies.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.base.tables import Table
from kgprobe.papers.studies.study import Study, counted_notes, json_number
from kgprobe.results.rendering.plots import Category, CategoryPlot
from kgprobe.stats.agreement import cohen_kappa, fleiss_kappa
from kgprobe.stats.proportions import share
from kgprobe.verbalize.corrections import Verbalization
from kgprobe.verbalize.error_kinds import ERROR_KINDS, FREE, ONLY_MINOR, WITH_BLUNDER, category_of

# The annotated unit: subject, relation, object and sentence.
_Sentence = tuple[str, str, str, str]
_CATEGORIES = (ONLY_MINOR, WITH_BLUNDER, FREE)
_CATEGORY = "category"


@dataclass(frozen=True, slots=True)
class Annotations:
    """The annotations of one person.

    Attributes:
        errors: kinds of errors of each annotated sentence.
        left_out: reasons of unused rows, one message each.
    """

    errors: Mapping[_Sentence, frozenset[str]]
    left_out: Sequence[str] = ()


def annotations_of(verbalizations: Sequence[Verbalization], context: str | None = None) -> Annotations:
    """Return the annotations of a table; a sentence that is there twice counts once, with the last row.

    Args:
        context: ``present`` or ``past``: only sentences of this context; None uses all.
    """
    errors: dict[_Sentence, frozenset[str]] = {}
    left_out: list[str] = []
    for row in verbalizations:
        sentence = (row.subject, row.relation, row.object, row.text)
        if context is not None and row.context != context:
            left_out.append(f"its context is not {context}")
        elif not row.annotated:
            left_out.append("it is not annotated (write - if it has no errors)")
        else:
            if sentence in errors:
                left_out.append("a later row is about the same sentence")
            errors[sentence] = frozenset(row.errors)
    return Annotations(errors, left_out)


def verbalizations_study(annotators: Mapping[str, Annotations], config: Mapping[str, Any]) -> Study:
    """Compute the rates of errors for each annotator, and the agreement of several."""
    empty = [name for name, annotations in annotators.items() if not annotations.errors]
    if empty:
        raise KgprobeError(
            f"{', '.join(empty)}: no sentence is annotated. Write the kinds of errors into the column errors, or - for"
            " none."
        )
    kinds = _kinds(annotators)
    rows: list[dict[str, Any]] = []
    categories: list[dict[str, Any]] = []
    for name, annotations in annotators.items():
        everything = list(annotations.errors.values())
        rows += _rates_of_kinds(name, everything, kinds)
        for category in _CATEGORIES:
            are = [category_of(errors) == category for errors in everything]
            categories.append(_rate(name, {"category": category}, are))
    further = [Table("categories", "Categories of sentences", categories, groups_by="annotator")]
    notes = ["Shares have 95% Wilson intervals. A sentence can have several kinds of errors."]
    agreement = _agreement(annotators, list(kinds))
    if agreement:
        further.append(agreement)
    known = {kind.name for kind in ERROR_KINDS}
    unknown = sorted(set(kinds) - known)
    if unknown:
        notes.append(f"Kinds that the paper's Table 8 does not have: {', '.join(unknown)}.")
    for name, annotations in annotators.items():
        notes += counted_notes(f"{name}: not used", annotations.left_out)
    return Study(
        name="verbalizations",
        title=f"Errors of sentences · {', '.join(annotators)}",
        verdict=_verdict(categories, agreement),
        data=rows,
        table=rows,
        plots=[_plot(rows, len(annotators))],
        notes=notes,
        config=config,
        further=further,
    )


def _rates_of_kinds(
    annotator: str, everything: Sequence[frozenset[str]], kinds: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    """Return the rate of each kind of error, and of sentences without errors."""
    rows = []
    for kind, category in kinds.items():
        about = {"error": kind, "category": category}
        rows.append(_rate(annotator, about, [kind in errors for errors in everything]))
    rows.append(_rate(annotator, {"error": FREE, "category": None}, [not errors for errors in everything]))
    return rows


def _kinds(annotators: Mapping[str, Annotations]) -> dict[str, str | None]:
    """Return the paper's kinds with their categories, then other annotated kinds."""
    kinds: dict[str, str | None] = {kind.name: kind.category for kind in ERROR_KINDS}
    annotated = chain.from_iterable(chain.from_iterable(each.errors.values()) for each in annotators.values())
    for kind in sorted(set(annotated)):
        kinds.setdefault(kind, None)
    return kinds


def _rate(annotator: str, about: Mapping[str, Any], are: Sequence[bool]) -> dict[str, Any]:
    rate = share(sum(are), len(are))
    row: dict[str, Any] = {"annotator": annotator, **about, "count": sum(are), "sentences": len(are)}
    return row | {"share": rate.value, "low": rate.low, "high": rate.high}


def _agreement(annotators: Mapping[str, Annotations], kinds: Sequence[str]) -> Table | None:
    """Return κ of the annotators for each kind, for "free of errors" and for the category; None for one annotator."""
    if len(annotators) < 2:
        return None
    shared = sorted(set.intersection(*(set(annotations.errors) for annotations in annotators.values())))
    statistic = "Cohen's" if len(annotators) == 2 else "Fleiss'"
    title = f"Agreement of {len(annotators)} annotators on {len(shared):,} shared sentences: {statistic} κ"
    everything = [[annotations.errors[sentence] for annotations in annotators.values()] for sentence in shared]
    rows: list[dict[str, Any]] = []
    for kind in [*kinds, FREE, _CATEGORY]:
        labels = [_label(kind, errors) for errors in chain.from_iterable(everything)]
        table = np.array(labels, dtype=np.int64).reshape(len(shared), len(annotators))
        row: dict[str, Any] = {"error": kind, "sentences": len(shared)}
        row["all agree"] = json_number(float((table == table[:, :1]).all(axis=1).mean()) if len(table) else np.nan)
        rows.append(
            row
            | {"κ": json_number(cohen_kappa(table[:, 0], table[:, 1]) if table.shape[1] == 2 else fleiss_kappa(table))}
        )
    note = "κ is undefined where all annotators give all sentences the same label."
    return Table("agreement", title, rows, [note])


def _label(kind: str, errors: frozenset[str]) -> int:
    """Return the label of a sentence: 1 with the kind of error or without any, or the number of its category."""
    if kind == _CATEGORY:
        return _CATEGORIES.index(category_of(errors))
    return int(not errors) if kind == FREE else int(kind in errors)


def _plot(rows: Sequence[Mapping[str, Any]], annotators: int) -> CategoryPlot:
    categories = []
    for row in rows:
        name = row["error"] if annotators == 1 else f"{row['error']} ({row['annotator']})"
        categories.append(Category(name, row["share"], row["low"], row["high"]))
    return CategoryPlot("Errors by kind", "share of the sentences, with 95% Wilson intervals", categories, (0.0, 1.0))


def _verdict(categories: Sequence[Mapping[str, Any]], agreement: Table | None) -> str:
    """Return a sentence on the flawed sentences of each annotator, and on their agreement."""
    parts = []
    for row in categories:
        if row["category"] == FREE:
            flawed = share(row["sentences"] - row["count"], row["sentences"])
            parts.append(f"{flawed} of {row['sentences']:,} sentences have errors ({row['annotator']})")
    verdict = "; ".join(parts) + "."
    if agreement is None:
        return verdict
    # The last row; a kind of error may have the same name.
    of_category = agreement.rows[-1]
    kappa = "undefined" if of_category["κ"] is None else f"{of_category['κ']:.2f}"
    return f"{verdict} Agreement on the category: κ {kappa} on {of_category['sentences']:,} shared sentences."
