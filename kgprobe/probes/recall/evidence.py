"""Evidence of the probe `recall`: right answers to one question over several prompts, and the tables of many facts.

SliCK: Gekhman et al. 2024 (2405.05904), section 3; docs/methods/recall.md.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from kgprobe.base.intervals import Percent
from kgprobe.base.tables import Table
from kgprobe.probes.confidence import by_relation, mean_of
from kgprobe.probes.examples.evidence import fewer_examples_note
from kgprobe.probes.outcome import Alternatives, Evidence, Outcome, ProbeResults, RatedAnswer, answered, shortened
from kgprobe.probes.questions.evidence import RightAnswer
from kgprobe.probes.recall.classes import CLASSES, class_of_answers, guessed_classes
from kgprobe.probes.thoughts import thought_tables
from kgprobe.stats.proportions import share


class RecallEvidence(Evidence, frozen=True, tag="recall"):
    """One question, asked with several prompts.

    Attributes:
        question: the question, or the cloze sentence up to its blank.
        right: all right objects, the fact's own first.
        wrong: distinct wrong answers: greedy ones first, the most frequent first; at most ``SHOWN_ANSWERS``.
        unplaced: number of answers that neither name an object of the relation nor are read as refusals.
        chance: probability that a random object of the relation is right; None if unknown.
        thought_tokens: tokens of the thought before each answer; empty if there are none.
        thoughts_cut: number of thoughts that the model did not end by itself.
        rated: the most frequent sampled answer, by entity, with its share.
    """

    question: str
    right: tuple[RightAnswer, ...]
    examples: int
    greedy_right: int
    greedy: int
    sampled_right: int
    sampled: int
    wrong: tuple[str, ...] = ()
    unplaced: int = 0
    chance: float | None = None
    thought_tokens: tuple[int, ...] = ()
    thoughts_cut: int = 0
    rated: tuple[RatedAnswer, ...] = ()

    @property
    def is_right(self) -> bool:
        """True if more than half of the greedy answers are right."""
        return 2 * self.greedy_right > self.greedy

    @property
    def slick(self) -> str | None:
        """SliCK's class; None if all greedy answers are wrong and nothing was sampled."""
        return class_of_answers(self.greedy_right, self.greedy, self.sampled_right, self.sampled)

    @property
    def right_answer(self) -> str:
        """The fact's own object, with the further right ones."""
        own, *others = (answer.names[0] for answer in self.right)
        return f"{own} (also right: {'; '.join(others)})" if others else own

    @property
    def prediction(self) -> str | None:
        """The most frequent wrong greedy answer; None if most greedy answers are right."""
        return None if self.is_right else shortened(self.wrong[0])

    @property
    def alternatives(self) -> Alternatives:
        """The wrong answers, one per line."""
        return Alternatives(text="\n".join(self.wrong) if self.wrong else None)

    @property
    def values(self) -> Mapping[str, float]:
        """Shares of right answers, and 1 for SliCK's class, 0 for the others; not a number where unknown."""
        slick = self.slick
        values = {
            "greedy_right": self.greedy_right / self.greedy,
            "sampled_right": self.sampled_right / self.sampled if self.sampled else math.nan,
        }
        for name in CLASSES:
            values[name.replace(" ", "_")] = math.nan if slick is None else float(slick == name)
        return values

    @property
    def counts(self) -> Mapping[str, int]:
        """Right and all answers, greedy and sampled ones; and texts."""
        names = ("greedy_right", "greedy", "sampled_right", "sampled", "unplaced")
        return {**{name: getattr(self, name) for name in names}, "texts": self.greedy + self.sampled}

    @classmethod
    def results(cls, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> ProbeResults:
        """Return the shares of SliCK's classes, over all facts and by relation; no table without answers.

        Memory: a few numbers per fact, and one per thought.
        """
        rows = []
        tokens: list[tuple[int, ...]] = []
        cut = 0
        for outcome, evidence in answered(outcomes, cls):
            guess = evidence.chance
            row = {
                "relation": outcome.relation,
                "class": evidence.slick,
                "greedy": evidence.values["greedy_right"],
                "sampled": evidence.values["sampled_right"],
                "examples": evidence.examples,
                "guess": guess,
                **(_NO_GUESS if guess is None else guessed_classes(guess, evidence.greedy, evidence.sampled)),
            }
            rows.append(row)
            tokens.append(evidence.thought_tokens or (0,) * (evidence.greedy + evidence.sampled))
            cut += evidence.thoughts_cut
        if not rows:
            return ProbeResults()
        facts = pd.DataFrame(rows)
        notes = []
        examples = described.get("examples", 0)
        fewer = int((facts["examples"] < examples).sum())
        if fewer:
            notes.append(fewer_examples_note(fewer, len(facts), examples))
        thoughts = thought_tables(list(chain.from_iterable(tokens)), cut, described)
        return ProbeResults([*_class_tables(facts, notes), *thoughts])


# Number of wrong answers in the evidence.
SHOWN_ANSWERS = 5
_NO_GUESS = dict.fromkeys(CLASSES, math.nan)


def most_frequent(greedy: Sequence[str], sampled: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct answers of two lists, those of the first list first, the most frequent first.

    >>> most_frequent(["Rome", "Bonn", "Bonn"], ["Oslo", "Rome"])
    ('Bonn', 'Rome', 'Oslo')
    """
    ordered: dict[str, None] = {}
    for answers in (greedy, sampled):
        # Sorting is stable: the first one leads a tie.
        ordered |= dict.fromkeys(sorted(answers, key=lambda answer: -answers.count(answer)))
    return tuple(ordered)[:SHOWN_ANSWERS]


def _class_tables(facts: pd.DataFrame, notes: Sequence[str]) -> list[Table]:
    classed = facts[facts["class"].notna()]
    guess_note = "By guessing: a model that gives a random object of the relation, drawn independently, as each answer."
    tables = []
    if len(classed):
        rows = []
        for name in CLASSES:
            count = int((classed["class"] == name).sum())
            row = {
                "class": name,
                "facts": count,
                "share": share(count, len(classed)),
                "by guessing": _mean(classed[name]),
            }
            rows.append(row)
        tables.append(Table("classes", "SliCK's classes", rows, [guess_note, *notes]))
    rows = []
    for relation, group in by_relation(facts):
        row = {
            "relation": relation,
            "facts": len(group),
            "greedy answers right": Percent(mean_of(group["greedy"])),
            "sampled answers right": _mean(group["sampled"]),
        }
        for name in CLASSES:
            row[name] = share(int((group["class"] == name).sum()), len(group))
        rows.append({**row, "a guess is right": _mean(group["guess"])})
    tables.append(Table("relations", "SliCK's classes by relation", rows))
    return tables


def _mean(values: "pd.Series[Any]") -> Percent | None:
    """Return the mean of the known values; None without any."""
    known = values.dropna().astype(float)
    return Percent(mean_of(known)) if len(known) else None
