"""What comparing gives back: rows for programs, tables for people, and a page with its files beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from kgprobe.analysis.directions import DirectionCounts, Directions, OneWayFact
from kgprobe.analysis.forgetting import FoundForgetting, LossVerdict
from kgprobe.analysis.knowledge_gap import FoundGap, GroupGap
from kgprobe.analysis.model_comparison import ModelComparison, PairDifference
from kgprobe.analysis.side_by_side import AnsweredFacts
from kgprobe.api.looks import Look
from kgprobe.files import make_folder, replacing
from kgprobe.report.comparison_tables import (
    accuracy_table,
    comparison_maps,
    comparison_verdict,
    correlation_table,
    forgetting_tables,
    forgetting_verdict,
    gap_map,
    gap_tables,
    gap_verdict,
    listed_numbers,
    means_tables,
    models_table,
    pairs_table,
    relations_table,
    subsumption_table,
)
from kgprobe.report.direction_tables import directions_tables, directions_verdict
from kgprobe.report.study_page import write_plots_page
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.tables import Table, flat_row

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Comparison(Look):
    """Models side by side; one row a model, the best first.

    Attributes:
        found: accuracies, correlations, subsumption, and each two models.
        unshared: how many facts the results share, and why not all, in sentences; empty where they share all.
        directions: what is known in one direction alone, where two results differ in it; else None.
        answered: what each model did on each fact that it answered.
        config: what was compared.
        folder: where :meth:`page` writes.
    """

    found: ModelComparison
    unshared: str
    directions: Directions | None
    answered: Sequence[AnsweredFacts]
    config: Mapping[str, Any]
    folder: Path

    columns: ClassVar[Sequence[str]] = (
        *("name", "model", "probe", "asked", "shared", "win_rate", "win_rate_low", "win_rate_high"),
        *("zero_sense_rate", "guessed"),
    )

    def rows(self) -> list[dict[str, Any]]:
        """Each model over the shared facts, with Wilson's interval of its win rate."""
        return [
            {
                "name": side.name,
                "model": side.model,
                "probe": side.probe,
                "asked": side.asked,
                "shared": len(self.found.beside.facts),
                **flat_row({"win_rate": side.shared and side.shared.win_rate}),
                "zero_sense_rate": side.shared and side.shared.zero_sense_rate.value,
                "guessed": side.shared and side.shared.guessed,
            }
            for side in self.found.beside.best_first
        ]

    def tables(self) -> list[Table]:
        """Rates, accuracies by relation, subsumption, correlation, the pairs; of two models also their relations."""
        found = self.found
        tables = [models_table(found.beside), accuracy_table(found), subsumption_table(found), correlation_table(found)]
        tables += [pairs_table(found), *means_tables(found)]
        tables += [relations_table(pair) for pair in found.pairs if len(found.pairs) == 1]
        return [*tables, *(directions_tables(self.directions) if self.directions else [])]

    def summary(self) -> str:
        """Who is best, in a sentence or two; of two directions, what is known in one of them alone."""
        verdict = comparison_verdict(self.found)
        return f"{directions_verdict(self.directions)} {verdict}" if self.directions else verdict

    def one_way_frame(self) -> "pd.DataFrame":
        """Every fact that is known in one direction and not in the other; none where there is one direction."""
        import pandas as pd

        listed = self.directions.one_way if self.directions else []
        columns = [field.name for field in fields(OneWayFact)]
        frame: pd.DataFrame = pd.DataFrame([asdict(one) for one in listed], columns=columns)
        return frame

    def facts_frame(self) -> "pd.DataFrame":
        """One row a shared fact: what was asked, what is right, and whether each model had it right and preferred."""
        beside = self.found.beside
        frame = self.answered[0].facts.loc[list(beside.facts), ["subject", "relation", "question", "right_answer"]]
        for side, its, won in zip(beside.sides, self.answered, beside.won, strict=True):
            predictions = its.facts.loc[list(beside.facts), "prediction"]
            frame = frame.assign(**{f"{side.label}: right": won, f"{side.label}: prediction": predictions})
        told: pd.DataFrame = frame.rename_axis("fact").reset_index()
        return told

    def as_json(self) -> dict[str, Any]:
        """Everything, with stable keys; what has no value is null."""
        found = self.found
        return {
            "verdict": self.summary(),
            "notes": list(self.notes),
            "unshared": self.unshared,
            "caveat": found.beside.caveat,
            "facts": len(found.beside.facts),
            "models": self.rows(),
            "labels": found.labels,
            "relations": [
                {"relation": relation, "name": name, "facts": size, "accuracy": its}
                for relation, name, size, its in zip(
                    found.relations, found.names, found.sizes, listed_numbers(found.accuracy), strict=True
                )
            ],
            "correlation": listed_numbers(found.correlation),
            "correlated_relations": len(found.relations),
            "subsumption": listed_numbers(found.subsumption),
            "pairs": [_pair_json(pair) for pair in found.pairs],
            "directions": _directions_json(self.directions) if self.directions else None,
        }

    def page(self) -> Path:
        """Write a page with heat maps and all tables, everything as JSON, and the facts as CSV; give the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        found = self.found
        title = "Forwards and backwards" if self.directions else f"{len(found.labels)} results side by side"
        tables = [*self.tables(), *(relations_table(pair) for pair in found.pairs if len(found.pairs) > 1)]
        _write_files(self.folder, "comparison.json", self.as_json(), "facts.csv", self.facts_frame())
        if self.directions:
            _write_frame(self.folder / "one_way_facts.csv", self.one_way_frame())
        page = self.folder / "comparison.html"
        return write_plots_page(page, title, self.summary(), comparison_maps(found), tables, self.notes, self.config)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Forgetting(Look):
    """What a model has lost; one row for each fact that is forgotten or gained.

    Attributes:
        found: the loss, its bounds, and the facts.
        config: what was compared.
        folder: where :meth:`page` writes.
    """

    found: FoundForgetting
    config: Mapping[str, Any]
    folder: Path

    columns: ClassVar[Sequence[str]] = (
        *("change", "fact", "subject", "relation", "relation_name", "question", "right_answer"),
        *("base_prediction", "tuned_prediction"),
    )

    @property
    def verdict(self) -> LossVerdict:
        """Whether more was lost than the margin."""
        return self.found.verdict

    def rows(self) -> list[dict[str, Any]]:
        """All facts that one of the models alone has right, the forgotten ones first."""
        changed = [asdict(one) for one in (*self.found.forgotten, *self.found.gained)]
        return [{"change": "forgotten" if one.pop("forgotten") else "gained", **one} for one in changed]

    def tables(self) -> list[Table]:
        """The loss, the worst relations, the first of the forgotten facts."""
        return forgetting_tables(self.found)

    def summary(self) -> str:
        """The verdict, in a sentence or two."""
        return forgetting_verdict(self.found)

    def as_json(self) -> dict[str, Any]:
        """The numbers, all relations with a loss, and the changed facts, with stable keys; a loss is a share."""
        found = self.found
        return {
            "verdict": found.verdict.value,
            "summary": self.summary(),
            "notes": list(self.notes),
            "caveat": found.caveat,
            "base": found.base,
            "tuned": found.tuned,
            "facts": found.facts,
            "margin": found.margin,
            **flat_row({"base_accuracy": found.base_accuracy, "tuned_accuracy": found.tuned_accuracy}),
            "loss": found.loss,
            "loss_low": found.low,
            "loss_high": found.high,
            "discordant": found.discordant,
            "detectable_loss": found.detectable,
            "facts_needed_if_nothing_is_lost": found.needed,
            "facts_needed_as_seen": found.needed_as_seen,
            "forgotten": len(found.forgotten),
            "gained": len(found.gained),
            "relations": [asdict(one) for one in found.relations],
            "changed_facts": self.rows(),
        }

    def page(self) -> Path:
        """Write a page, everything as JSON, and all changed facts as CSV; give the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        title = f"What {self.found.tuned} lost of {self.found.base}"
        _write_files(self.folder, "forgetting.json", self.as_json(), "changed_facts.csv", self.frame())
        page = self.folder / "forgetting.html"
        return write_plots_page(page, title, self.summary(), [], self.tables(), self.notes, self.config)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class KnowledgeGap(Look):
    """What a model knows by one way of asking and misses by another; one row in all, then one a relation.

    Attributes:
        found: the shares, and the facts.
        config: what was compared.
        folder: where :meth:`page` writes.
    """

    found: FoundGap
    config: Mapping[str, Any]
    folder: Path

    columns: ClassVar[Sequence[str]] = (
        *("relation", "name", "facts", "stored", "stored_low", "stored_high", "said", "said_low", "said_high"),
        *("known", "unsaid", "unsaid_low", "unsaid_high", "said_alone"),
    )

    def rows(self) -> list[dict[str, Any]]:
        """All facts, then each relation, the greatest gap first; relation is None of all."""
        return [_gap_row(one) for one in (self.found.overall, *self.found.relations)]

    def tables(self) -> list[Table]:
        """The gap, and the first of the facts."""
        return gap_tables(self.found)

    def summary(self) -> str:
        """How much is known and not said, in a sentence."""
        return gap_verdict(self.found)

    def facts_frame(self) -> "pd.DataFrame":
        """Every fact that is known by the first way of asking and missed by the second."""
        import pandas as pd

        columns = ("fact", "subject", "relation", "relation_name", "question", "right_answer", "said")
        frame: pd.DataFrame = pd.DataFrame([asdict(one) for one in self.found.unsaid], columns=columns)
        return frame

    def as_json(self) -> dict[str, Any]:
        """Everything, with stable keys; shares have their ends beside them."""
        found = self.found
        overall, *relations = self.rows()
        return {
            "summary": self.summary(),
            "notes": list(self.notes),
            "caveat": found.caveat,
            "model": found.model,
            "stored_by": found.stored_by,
            "said_by": found.said_by,
            "guessed_stored": found.guessed[0],
            "guessed_said": found.guessed[1],
            "overall": overall,
            "relations": relations,
            "unsaid_facts": [asdict(one) for one in found.unsaid],
        }

    def page(self) -> Path:
        """Write a page with a heat map, everything as JSON, and all unsaid facts as CSV; give the page's path.

        Raises:
            KgprobeError: a file cannot be written.
        """
        title = f"{self.found.model}: known by {self.found.stored_by}, missed by {self.found.said_by}"
        _write_files(self.folder, "gap.json", self.as_json(), "unsaid_facts.csv", self.facts_frame())
        page = self.folder / "gap.html"
        return write_plots_page(
            page, title, self.summary(), [gap_map(self.found)], self.tables(), self.notes, self.config
        )


def _pair_json(pair: PairDifference) -> dict[str, Any]:
    relations = [{**_flat(one), "is_tie": one.is_tie} for one in pair.relations]
    return {
        **_flat(pair),
        "means": flat_row(pair.means),
        "better": pair.better,
        "ties": pair.ties,
        "relations": relations,
    }


def _directions_json(found: Directions) -> dict[str, Any]:
    return {
        "forwards": found.forwards_label,
        "backwards": found.backwards_label,
        "overall": _direction_row(found.overall),
        "relations": [_direction_row(one) for one in found.relations],
        "one_way_facts": [asdict(one) for one in found.one_way],
    }


def _direction_row(one: DirectionCounts) -> dict[str, Any]:
    nothing = {
        "not_backwards_low": None,
        "not_backwards_high": None,
        "not_forwards_low": None,
        "not_forwards_high": None,
    }
    return {**nothing, **_flat(one)}


def _gap_row(one: GroupGap) -> dict[str, Any]:
    return {"unsaid_low": None, "unsaid_high": None, **_flat(one)}


def _flat(one: "DataclassInstance") -> dict[str, Any]:
    """The fields of a result, the ends of intervals beside their values."""
    return flat_row({field.name: getattr(one, field.name) for field in fields(one)})


def _write_files(folder: Path, whole: str, content: Mapping[str, Any], facts: str, frame: "pd.DataFrame") -> None:
    make_folder(folder)
    with replacing(folder / whole) as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
    _write_frame(folder / facts, frame)


def _write_frame(path: Path, frame: "pd.DataFrame") -> None:
    with replacing(path) as unfinished:
        frame.map(spreadsheet_cell).to_csv(unfinished, index=False)
