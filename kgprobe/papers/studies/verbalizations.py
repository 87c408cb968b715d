"""Study of the errors of sentences, from annotations by people: rates by kind and category, agreement of annotators.

Tables 5, 6 and 8 of the distractor paper; docs/methods/studies.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.papers.studies.study import Study, category, counted_notes, json_number
from kgprobe.results.rendering.plots import CategoryPlot
from kgprobe.results.result import Listing
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


@dataclass(frozen=True, slots=True)
class ErrorRate(ResultRow):
    """Rate of a kind of error, of sentences without errors, or of a category of sentences, for an annotator.

    Attributes:
        error: the kind; None for a category of sentences.
        category: that of the kind; None for kinds that the paper does not have.
        count: number of sentences with the error.
        share: their share, with its Wilson interval.
    """

    annotator: Annotated[str, Heading("annotator")]
    error: Annotated[str | None, Heading("error")]
    category: Annotated[str | None, Heading("category")]
    count: Annotated[int, Heading("count")]
    sentences: Annotated[int, Heading("sentences")]
    share: Annotated[Mean, Heading("share")]


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement(ResultRow):
    """Agreement of annotators on a kind of error, on "free of errors", or on the category.

    Attributes:
        sentences: number of shared sentences.
        all_agree: share on which all annotators agree; None without shared sentences.
        kappa: Cohen's κ of two annotators, Fleiss' of more; None if it is undefined.
    """

    error: Annotated[str, Heading("error")]
    sentences: Annotated[int, Heading("sentences")]
    all_agree: Annotated[float | None, Heading("all agree")]
    kappa: Annotated[float | None, Heading("κ")]


_KAPPA = "Agreement of {annotator_count} annotators on {shared:,} shared sentences: {statistic} κ"
_UNDEFINED = "κ is undefined where all annotators give all sentences the same label."


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class VerbalizationsStudy(Study):
    """Errors of sentences."""

    data: Annotated[Sequence[ErrorRate], Listing("", detail=True)]
    categories: Annotated[
        Sequence[ErrorRate], Listing("Categories of sentences", groups_by="annotator", optional=True, detail=True)
    ]
    agreement: Annotated[Sequence[AnnotatorAgreement], Listing(_KAPPA, _UNDEFINED, detail=True)]

    name: ClassVar[str] = "verbalizations"

    @property
    def annotator_count(self) -> int:
        """Number of annotators."""
        return len({row.annotator for row in self.data})

    @property
    def shared(self) -> int:
        """Number of sentences of all annotators, if there are several."""
        return self.agreement[-1].sentences

    @property
    def statistic(self) -> str:
        """Name of the statistic of agreement."""
        return "Cohen's" if self.annotator_count == 2 else "Fleiss'"

    @property
    def plots(self) -> Sequence[CategoryPlot]:
        """The rates of the kinds."""
        categories = []
        for row in self.data:
            name = str(row.error) if self.annotator_count == 1 else f"{row.error} ({row.annotator})"
            categories.append(category(name, row.share))
        whiskers = "share of the sentences, with 95% Wilson intervals"
        return [CategoryPlot("Errors by kind", whiskers, categories, (0.0, 1.0))]


def verbalizations_study(annotators: Mapping[str, Annotations], config: Mapping[str, Any]) -> VerbalizationsStudy:
    """Compute the rates of errors for each annotator, and the agreement of several."""
    empty = [name for name, annotations in annotators.items() if not annotations.errors]
    if empty:
        raise KgprobeError(
            f"{', '.join(empty)}: no sentence is annotated. Write the kinds of errors into the column errors, or - for"
            " none."
        )
    kinds = _kinds(annotators)
    rates: list[ErrorRate] = []
    categories: list[ErrorRate] = []
    for name, annotations in annotators.items():
        everything = list(annotations.errors.values())
        for kind, of_kind in kinds.items():
            rates.append(ErrorRate(name, kind, of_kind, *_rate([kind in errors for errors in everything])))
        rates.append(ErrorRate(name, FREE, None, *_rate([not errors for errors in everything])))
        for own in _CATEGORIES:
            rate = _rate([category_of(errors) == own for errors in everything])
            categories.append(ErrorRate(name, None, own, *rate))
    agreement = _agreement(annotators, list(kinds))
    notes = ["Shares have 95% Wilson intervals. A sentence can have several kinds of errors."]
    known = {kind.name for kind in ERROR_KINDS}
    unknown = sorted(set(kinds) - known)
    if unknown:
        notes.append(f"Kinds that the paper's Table 8 does not have: {', '.join(unknown)}.")
    for name, annotations in annotators.items():
        notes += counted_notes(f"{name}: not used", annotations.left_out)
    return VerbalizationsStudy(
        title=f"Errors of sentences · {', '.join(annotators)}",
        verdict=_verdict(categories, agreement),
        data=rates,
        categories=categories,
        agreement=agreement,
        notes=notes,
        config=config,
    )


def _kinds(annotators: Mapping[str, Annotations]) -> dict[str, str | None]:
    """Return the paper's kinds with their categories, then other annotated kinds."""
    kinds: dict[str, str | None] = {kind.name: kind.category for kind in ERROR_KINDS}
    annotated = chain.from_iterable(chain.from_iterable(each.errors.values()) for each in annotators.values())
    for kind in sorted(set(annotated)):
        kinds.setdefault(kind, None)
    return kinds


def _rate(are: Sequence[bool]) -> tuple[int, int, Mean]:
    """Return the number of true values, of all, and their share, with more digits than a percentage has."""
    rate = share(sum(are), len(are))
    return sum(are), len(are), Mean(rate.value, rate.low, rate.high)


def _agreement(annotators: Mapping[str, Annotations], kinds: Sequence[str]) -> list[AnnotatorAgreement]:
    """Return κ of the annotators for each kind, for "free of errors" and for the category; none for one annotator."""
    if len(annotators) < 2:
        return []
    shared = sorted(set.intersection(*(set(annotations.errors) for annotations in annotators.values())))
    everything = [[annotations.errors[sentence] for annotations in annotators.values()] for sentence in shared]
    rows = []
    for kind in [*kinds, FREE, _CATEGORY]:
        labels = [_label(kind, errors) for errors in chain.from_iterable(everything)]
        table = np.array(labels, dtype=np.int64).reshape(len(shared), len(annotators))
        agree = (table == table[:, :1]).all(axis=1).mean() if len(table) else np.nan
        kappa = cohen_kappa(table[:, 0], table[:, 1]) if table.shape[1] == 2 else fleiss_kappa(table)
        rows.append(AnnotatorAgreement(kind, len(shared), json_number(agree), json_number(kappa)))
    return rows


def _label(kind: str, errors: frozenset[str]) -> int:
    """Return the label of a sentence: 1 with the kind of error or without any, or the number of its category."""
    if kind == _CATEGORY:
        return _CATEGORIES.index(category_of(errors))
    return int(not errors) if kind == FREE else int(kind in errors)


def _verdict(categories: Sequence[ErrorRate], agreement: Sequence[AnnotatorAgreement]) -> str:
    """Return a sentence on the flawed sentences of each annotator, and on their agreement."""
    parts = []
    for row in categories:
        if row.category == FREE:
            flawed = share(row.sentences - row.count, row.sentences)
            parts.append(f"{flawed} of {row.sentences:,} sentences have errors ({row.annotator})")
    verdict = "; ".join(parts) + "."
    if not agreement:
        return verdict
    # The last row; a kind of error may have the same name.
    of_category = agreement[-1]
    kappa = "undefined" if of_category.kappa is None else f"{of_category.kappa:.2f}"
    return f"{verdict} Agreement on the category: κ {kappa} on {of_category.sentences:,} shared sentences."
