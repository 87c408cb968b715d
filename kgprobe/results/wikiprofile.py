"""Profiles of WikiProfile's facts: shares of the profiles, right answers by task, and a row for each fact."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kgprobe.labelling.wikiprofile import PROFILES, UNEXPLAINED, ProfiledFact
from kgprobe.results.result import Result
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import Percent, share
from kgprobe.tables import Heading, ResultRow, Table


@dataclass(frozen=True, slots=True)
class FactProfile(ResultRow):
    """The profile of one fact.

    Attributes:
        profile: None if answers are missing.
        encoded: highest share of right answers with context; None without answers.
        recalled, by_thinking: lowest share of right answers to the four questions; None without answers.
    """

    fact: Annotated[str, Heading("fact")]
    category: Annotated[str, Heading("category")]
    subject: Annotated[str, Heading("subject")]
    object: Annotated[str, Heading("object")]
    profile: Annotated[str | None, Heading("profile")]
    encoded: Annotated[float | None, Heading("encoded")]
    recalled: Annotated[float | None, Heading("recalled")]
    by_thinking: Annotated[float | None, Heading("by thinking")]


@dataclass(frozen=True, slots=True, repr=False)
class WikiProfiles(Result):
    """The profiles of some facts by a model's answers; one row for each fact.

    Attributes:
        model: spec of the model.
        facts: the facts with their answers.
        skipped: rows of the file that were skipped, by reason.
    """

    model: str
    facts: Sequence[ProfiledFact]
    skipped: Mapping[str, int]

    row = FactProfile

    def records(self) -> list[FactProfile]:
        """Return a row for each fact."""
        rows = []
        for profiled in self.facts:
            fact = profiled.fact
            numbers = (profiled.encoded, profiled.recalled, profiled.by_thinking)
            rows.append(FactProfile(fact.id, fact.category, fact.subject, fact.object, profiled.profile, *numbers))
        return rows

    def tables(self) -> list[Table]:
        """Return the share of each profile, and the right answers by task."""
        tables = [Table("tasks", "Right answers by task", self._tasks())]
        profiles = self._profiles()
        return [Table("profiles", "Profiles", profiles), *tables] if profiles else tables

    def _profiles(self) -> list[dict[str, Any]]:
        counts = self._counts()
        total = sum(counts[profile] for profile in PROFILES)
        if not total:
            return []
        return [
            {"profile": profile, "facts": counts[profile], "share": share(counts[profile], total)}
            for profile in PROFILES
        ]

    def _tasks(self) -> list[dict[str, Any]]:
        right: Counter[str] = Counter()
        answers: Counter[str] = Counter()
        for profiled in self.facts:
            for task, count in profiled.counts.items():
                right[task] += count.right
                answers[task] += count.answers
        rows = []
        for task, total in answers.items():
            rows.append({"task": task, "answers": total, "right": Percent(right[task] / total) if total else None})
        return rows

    def _counts(self) -> Counter[str]:
        return Counter(fact.profile for fact in self.facts if fact.profile is not None)

    def summary(self) -> str:
        """Return the number of facts, and of those without a profile and left out."""
        counts = self._counts()
        unknown = len(self.facts) - sum(counts.values())
        text = f"WikiProfile, {self.model}: {counted(len(self.facts), 'fact')}."
        if counts[UNEXPLAINED]:
            text += f" Left out: {counts[UNEXPLAINED]:,} {UNEXPLAINED}, as in the paper."
        if unknown:
            text += f" Without a profile, because answers are missing: {unknown:,}."
        skipped = "; ".join(f"{count:,}: {reason}" for reason, count in self.skipped.items())
        return f"{text} Skipped rows: {skipped}." if skipped else text

    def to_dict(self) -> dict[str, Any]:
        """Return model, shares, tasks, facts and skipped rows."""
        return {
            "model": self.model,
            **{table.key: table.to_dict() for table in self.tables()},
            "facts": self.rows(),
            "skipped": dict(self.skipped),
            "notes": list(self.notes),
        }
