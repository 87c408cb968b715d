"""Several facts in one sequence: EIC-LKE.

Appendices C.2 and F of the latent-knowledge paper; docs/methods/examples.md. A sequence begins with examples. From
there on, a fact that is asked stands before every fifth further example, with one of its choices behind it; as many
sequences as there are choices hold each choice of each fact once. A choice's probability is read where it stands, so
what stands before it are also choices of other facts, most of them wrong.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode, no_unicode, not_unicode
from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.probes.examples.prompts import Layout, Prompt, Room, fitting
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for

# Facts that are asked in one sequence, at most, and how many examples stand between two of them.
FACTS = 10
EVERY = 5

# A subject and an object.
Pair: TypeAlias = tuple[str, str]
# Whether examples, with others behind them, fit into the model's context.
Fits: TypeAlias = Callable[[Sequence[Pair], Sequence[Pair]], bool]


class SeparateTokens:
    """Token ids of sequences whose subjects and choices are tokenized each by themselves, as in appendix C.2."""

    def __init__(self, scorer: TextScorer, layout: Layout) -> None:
        """Take the tokens of this model, and a layout whose separators are tokenized by themselves, too."""
        self._scorer = scorer
        self._layout = layout
        self._known: dict[str, tuple[int, ...]] = {}

    def fits(self, before: Sequence[Pair], behind: Sequence[Pair]) -> bool:
        """Return whether these pairs fit into the model's context."""
        most = self._scorer.max_tokens
        return most is None or len(self.ids([*before, *behind])) <= most

    def ids(self, pairs: Iterable[Pair]) -> tuple[int, ...]:
        """Return the ids of pairs one after the other, with the special tokens in front."""
        ids = self._scorer.leading
        for number, (subject, object_) in enumerate(pairs):
            ids = (*ids, *(self._of(self._layout.between) if number else ()), *self._pair(subject, object_))
        return ids

    def prompt(self, before: tuple[int, ...], subject: str, choice: str) -> TokenizedPrompt:
        """Return a subject behind what stands before it, with one choice, or why the model cannot take it."""
        if odd := not_unicode([subject, choice]):
            return _untaken(no_unicode((subject, choice)[min(odd)]))
        context = (*self.next_to(before), *self._of(subject), *self._of(self._layout.separator))
        tail = self._of(choice)
        most = self._scorer.max_tokens
        if not tail:
            return _untaken(f"the choice {choice!r} tokenizes to nothing")
        if most is not None and len(context) + len(tail) - 1 > most:
            return _untaken(f"its sequence has more than the {most} tokens that the model takes in")
        return TokenizedPrompt(context, (len(context),), (tail,))

    def after(self, before: tuple[int, ...], pairs: Iterable[Pair]) -> tuple[int, ...]:
        """Return the ids of pairs behind what stands before them."""
        for subject, object_ in pairs:
            before = (*self.next_to(before), *self._pair(subject, object_))
        return before

    def next_to(self, before: tuple[int, ...]) -> tuple[int, ...]:
        """Return what stands before a pair, with what stands between two."""
        return before if before == self._scorer.leading else (*before, *self._of(self._layout.between))

    def _pair(self, subject: str, object_: str) -> tuple[int, ...]:
        return (*self._of(subject), *self._of(self._layout.separator), *self._of(object_))

    def _of(self, text: str) -> tuple[int, ...]:
        if text not in self._known:
            self._known[text] = () if not_unicode([text]) else tuple(encode(self._scorer.tokenizer, [text])[0])
        return self._known[text]


def text_fits(layout: Layout, room: Room) -> Fits:
    """Return whether pairs fit as running text."""

    def fits(before: Sequence[Pair], behind: Sequence[Pair]) -> bool:
        return room.has_for(layout.pairs(before), layout.pairs(behind))

    return fits


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

    def gathered(self, scored: Sequence[ScoredContinuations]) -> list[ScoredContinuations]:
        """What was found, for each fact by its choices; nothing where there was no sequence."""
        if not scored:
            return [ScoredContinuations(np.empty(0)) for _ in self.items]
        gathered = []
        for number, (item, order) in enumerate(zip(self.items, self.orders, strict=True)):
            values = np.full(len(item.labels), np.nan)
            reasons: dict[int, str] = {}
            for sequence, place in enumerate(order):
                one = scored[sequence * len(self.items) + number]
                values[place] = one.values[0]
                if one.reasons:
                    reasons[place] = one.reasons[0]
            gathered.append(ScoredContinuations(values, reasons))
        return gathered


def packed_size(
    items: Sequence[ChoiceItem], demonstrations: Sequence[Demonstration], examples: int, fits: Fits
) -> tuple[int, list[Demonstration]]:
    """Return how many of the facts go into one sequence, with its examples: those before the first, then five a gap.

    Fewer facts where the context or the relation does not have enough for all; fewer examples where it does not have
    enough for one.
    """
    for size in range(min(FACTS, len(items)), 1, -1):
        its = items[:size]
        wanted = examples + EVERY * (size - 1)
        fitting_ones = demonstrations_for([item.fact for item in its], demonstrations, wanted)
        if len(fitting_ones) < wanted:
            continue
        if fits(_pairs(fitting_ones[:examples]), [*_pairs(fitting_ones[examples:]), *map(_longest, its)]):
            return size, fitting_ones
    fitting_ones = demonstrations_for([items[0].fact], demonstrations, examples)
    tail = [_longest(items[0])]
    count = fitting(len(fitting_ones), lambda count: fits(_pairs(fitting_ones[:count]), tail))
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


def pack_separately(
    items: Sequence[ChoiceItem],
    orders: Sequence[Sequence[int]],
    demonstrations: Sequence[Demonstration],
    before: int,
    tokens: SeparateTokens,
) -> list[TokenizedPrompt]:
    """Return the token ids of the same sequences as :func:`pack`, in its order; arguments as there."""
    if not demonstrations:
        return []
    beginning = tokens.ids(_pairs(demonstrations[:before]))
    ends = [before + EVERY * number for number in range(len(items))]
    prompts = []
    for sequence in range(max(map(len, orders))):
        ids = beginning
        for item, order, end in zip(items, orders, ends, strict=True):
            choice = item.labels[order[sequence % len(order)]]
            prompts.append(tokens.prompt(ids, item.fact.subject_label, choice))
            ids = tokens.after(ids, [(item.fact.subject_label, choice), *_pairs(demonstrations[end : end + EVERY])])
    return prompts


def _pairs(demonstrations: Sequence[Demonstration]) -> list[Pair]:
    return [(one.subject_label, one.object_label) for one in demonstrations]


def _longest(item: ChoiceItem) -> Pair:
    return item.fact.subject_label, max(item.labels, key=len)


def _untaken(reason: str) -> TokenizedPrompt:
    return TokenizedPrompt((), (0,), ((),), None, {0: reason})
