"""Several facts in one sequence: EIC-LKE.

Appendix F of the latent-knowledge paper; docs/methods.md, 3. A sequence begins with examples. From there on, a fact
that is asked stands before every fifth further example, with one of its choices behind it; as many sequences as there
are choices hold each choice of each fact once. A choice's probability is read where it stands, so what stands before it
are also choices of other facts, most of them wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.models.scoring.scored import Scored
from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.probes.examples.prompts import Layout, Prompt, Room, fitting
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for

# Facts that are asked in one sequence, at most, and how many examples stand between two of them.
FACTS = 10
EVERY = 5


@dataclass(frozen=True, slots=True)
class Sequences:
    """Facts that share sequences, as what a scorer takes.

    Attributes:
        items: the facts.
        beginning: the examples before the first of them.
        prompts, continuations: of each sequence, one for each fact: all that stands before its choice, and the choice.
        orders: for each fact, which of its choices stands in each sequence; those of facts with fewer choices than
            there are sequences begin again.
        asked: for each fact, the prompt of its right choice.
    """

    items: Sequence[ChoiceItem]
    beginning: str
    prompts: Sequence[str]
    continuations: Sequence[str]
    orders: Sequence[Sequence[int]]
    asked: Sequence[Prompt]

    def gathered(self, scored: Sequence[Scored]) -> list[Scored]:
        """What was found, for each fact by its choices; nothing where there was no sequence."""
        if not scored:
            return [Scored(np.empty(0)) for _ in self.items]
        gathered = []
        for number, (item, order) in enumerate(zip(self.items, self.orders, strict=True)):
            values = np.full(len(item.labels), np.nan)
            reasons: dict[int, str] = {}
            for sequence, place in enumerate(order):
                one = scored[sequence * len(self.items) + number]
                values[place] = one.values[0]
                if one.reasons:
                    reasons[place] = one.reasons[0]
            gathered.append(Scored(values, reasons))
        return gathered


def packed_size(
    items: Sequence[ChoiceItem], demonstrations: Sequence[Demonstration], examples: int, layout: Layout, room: Room
) -> tuple[int, list[Demonstration]]:
    """How many of the facts go into one sequence, and with which examples: those before the first, then five a gap.

    Fewer facts where the context or the relation does not have enough for all; fewer examples where it does not have
    enough for one.
    """
    for size in range(min(FACTS, len(items)), 1, -1):
        its = items[:size]
        wanted = examples + EVERY * (size - 1)
        fitting_ones = demonstrations_for([item.fact for item in its], demonstrations, wanted)
        if len(fitting_ones) < wanted:
            continue
        rest = [layout.example(item.fact.subject_label, max(item.labels, key=len)) for item in its]
        tail = layout.after(layout.examples(fitting_ones[examples:]), layout.between.join(rest))
        if room.has_for(layout.examples(fitting_ones[:examples]), tail):
            return size, fitting_ones
    item = items[0]
    fitting_ones = demonstrations_for([item.fact], demonstrations, examples)
    tail = layout.example(item.fact.subject_label, max(item.labels, key=len))
    count = fitting(len(fitting_ones), lambda count: room.has_for(layout.examples(fitting_ones[:count]), tail))
    return 1, fitting_ones[:count]


def pack(
    items: Sequence[ChoiceItem],
    orders: Sequence[Sequence[int]],
    demonstrations: Sequence[Demonstration],
    before: int,
    layout: Layout,
) -> Sequences:
    """Facts in sequences.

    Args:
        items: of one relation.
        orders: for each fact the places of its choices, in the order of the sequences.
        demonstrations: those before the first fact, and five for each gap between two.
        before: how many stand before the first fact.
    """
    if not demonstrations:
        return Sequences(items, "", [], [], orders, [Prompt("", "", "", 0)] * len(items))
    beginning = layout.examples(demonstrations[:before])
    ends = [before + EVERY * number for number in range(len(items))]
    gaps = [*(layout.examples(demonstrations[end : end + EVERY]) for end in ends[:-1]), ""]
    prompts: list[str] = []
    continuations: list[str] = []
    asked: dict[int, Prompt] = {}
    for sequence in range(max(map(len, orders))):
        text = beginning
        for number, (item, order) in enumerate(zip(items, orders, strict=True)):
            place = order[sequence % len(order)]
            subject, choice = item.fact.subject_label, item.labels[place]
            prompts.append(layout.after(text, subject))
            continuations.append(choice)
            if place == 0:
                shown = layout.prompt(demonstrations[: ends[number]], subject)
                asked.setdefault(number, Prompt(prompts[-1], beginning, shown.asked, ends[number]))
            text = layout.after(layout.after(text, layout.example(subject, choice)), gaps[number])
    return Sequences(items, beginning, prompts, continuations, orders, [asked[number] for number in range(len(items))])
