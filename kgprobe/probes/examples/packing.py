"""Packing of several facts into one sequence: EIC-LKE.

Appendices C.2 and F of the latent-knowledge paper; docs/methods/examples.md. A sequence starts with examples.
Then come the asked facts, each with one of its choices, and five further examples between two of them. There are as
many sequences as choices, so that each choice of each fact occurs once. The probability of a choice is therefore
conditioned on choices of other facts as well, most of them wrong.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from kgprobe.base.progress import share_counter
from kgprobe.models.scoring.contract import ScoredContinuations, TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode, no_unicode, not_unicode
from kgprobe.probes.examples.items import ChoiceItem, outcome_of
from kgprobe.probes.examples.prompts import ExamplePrompts, Layout, Prompt, fitting, pairs_of
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.demonstrations import Demonstration, demonstrations_for

# Maximum number of facts in one sequence, and number of examples between two facts.
FACTS = 10
EVERY = 5

# A subject and an object.
Pair: TypeAlias = tuple[str, str]
# Returns True if pairs, followed by further pairs, fit into the model's context.
Fits: TypeAlias = Callable[[Sequence[Pair], Sequence[Pair]], bool]


class SeparateTokens:
    """Token ids of sequences whose subjects and choices are tokenized separately, as in appendix C.2."""

    def __init__(self, scorer: TextScorer, layout: Layout) -> None:
        """Use the scorer's tokenizer; the separators of the layout are tokenized separately, too."""
        self._scorer = scorer
        self._layout = layout
        self._known: dict[str, tuple[int, ...]] = {}

    def fits(self, before: Sequence[Pair], behind: Sequence[Pair]) -> bool:
        """Return True if the pairs fit into the model's context."""
        most = self._scorer.max_tokens
        return most is None or len(self.ids([*before, *behind])) <= most

    def ids(self, pairs: Iterable[Pair]) -> tuple[int, ...]:
        """Return the ids of successive pairs, after the leading special tokens."""
        return self.after(self._scorer.leading, pairs)

    def prompt(self, before: tuple[int, ...], subject: str, choice: str) -> TokenizedPrompt:
        """Return the prompt of a subject after the ids ``before``, with one choice; or why it cannot be scored."""
        if invalid := not_unicode([subject, choice]):
            return _unscorable(no_unicode((subject, choice)[min(invalid)]))
        context = (*self.next_to(before), *self._of(subject), *self._of(self._layout.separator))
        tail = self._of(choice)
        most = self._scorer.max_tokens
        if not tail:
            return _unscorable(f"the choice {choice!r} tokenizes to nothing")
        if most is not None and len(context) + len(tail) - 1 > most:
            return _unscorable(f"its sequence has more than the {most} tokens that the model takes in")
        return TokenizedPrompt(context, (len(context),), (tail,))

    def after(self, before: tuple[int, ...], pairs: Iterable[Pair]) -> tuple[int, ...]:
        """Return the ids ``before``, followed by the ids of pairs."""
        for subject, object_ in pairs:
            pair = (*self._of(subject), *self._of(self._layout.separator), *self._of(object_))
            before = (*self.next_to(before), *pair)
        return before

    def next_to(self, before: tuple[int, ...]) -> tuple[int, ...]:
        """Return the ids ``before`` with the separator between two pairs."""
        return before if before == self._scorer.leading else (*before, *self._of(self._layout.between))

    def _of(self, text: str) -> tuple[int, ...]:
        if text not in self._known:
            self._known[text] = () if not_unicode([text]) else tuple(encode(self._scorer.tokenizer, [text])[0])
        return self._known[text]


@dataclass(frozen=True, slots=True)
class Sequences:
    """Facts that share sequences, as input of a scorer.

    Attributes:
        beginning: the examples before the first fact.
        prompts, continuations: for each sequence and fact, the text before its choice, and the choice.
        orders: for each fact, the position of its choice in each sequence; facts with fewer choices than sequences
            repeat theirs.
        own_prompts: for each fact, the prompt of its right choice.
    """

    items: Sequence[ChoiceItem]
    beginning: str
    prompts: Sequence[str]
    continuations: Sequence[str]
    orders: Sequence[Sequence[int]]
    own_prompts: Sequence[Prompt]

    def gathered(self, scored: Sequence[ScoredContinuations]) -> list[ScoredContinuations]:
        """Return the scores of each fact's choices; empty without a sequence."""
        if not scored:
            return [ScoredContinuations(np.empty(0)) for _ in self.items]
        gathered = []
        for number, (item, order) in enumerate(zip(self.items, self.orders, strict=True)):
            values = np.full(len(item.labels), np.nan)
            reasons: dict[int, str] = {}
            for sequence, place in enumerate(order):
                choice = scored[sequence * len(self.items) + number]
                values[place] = choice.values[0]
                if choice.reasons:
                    reasons[place] = choice.reasons[0]
            gathered.append(ScoredContinuations(values, reasons))
        return gathered


def ask_packed(
    scorer: TextScorer,
    prompts: ExamplePrompts,
    items: Sequence[ChoiceItem],
    demonstrations: Mapping[str, Sequence[Demonstration]],
    seed: Sequence[int],
    *,
    separate_tokens: bool,
) -> Iterator[Outcome]:
    """Yield an outcome for each fact, in order; facts of a relation share sequences.

    Cost: one pass over each sequence; a fact has as many sequences as choices.

    The seed gives the order of the choices; ``separate_tokens`` tokenizes each subject and choice separately.
    """
    separate = SeparateTokens(scorer, prompts.layout) if separate_tokens else None
    packs = list(_packs(prompts, separate, items, demonstrations, seed))
    counter = share_counter(sum(len(sequences.prompts) for sequences, _ in packs))
    outcomes: dict[str, Outcome] = {}
    for sequences, tokenized in packs:
        if tokenized is not None:
            scored = scorer.score_tokenized(tokenized, counter)
        else:
            scored = scorer.score(
                sequences.prompts,
                [[text] for text in sequences.continuations],
                separator=prompts.layout.separator,
                beginnings=[sequences.beginning] * len(sequences.prompts),
                progress=counter,
            )
        scores = sequences.gathered(scored)
        for item, prompt, item_scores in zip(sequences.items, sequences.own_prompts, scores, strict=True):
            outcomes[item.fact.key.fact] = outcome_of(item, prompt, item_scores)
    return (outcomes[item.fact.key.fact] for item in items)


def _packs(
    prompts: ExamplePrompts,
    separate: SeparateTokens | None,
    items: Sequence[ChoiceItem],
    demonstrations: Mapping[str, Sequence[Demonstration]],
    seed: Sequence[int],
) -> Iterator[tuple[Sequences, list[TokenizedPrompt] | None]]:
    """Yield facts in sequences, and their tokenized prompts with separate tokens."""

    def text_fits(before: Sequence[Pair], behind: Sequence[Pair]) -> bool:
        return prompts.room.has_for(prompts.layout.pairs(before), prompts.layout.pairs(behind))

    fits = text_fits if separate is None else separate.fits
    for relation in dict.fromkeys(map(attrgetter("fact.relation"), items)):
        rest = [item for item in items if item.fact.relation == relation]
        while rest:
            size, examples = packed_size(rest, demonstrations[relation], prompts.count, fits)
            group, rest = rest[:size], rest[size:]
            orders = [item.order(seed) for item in group]
            before = len(examples) - EVERY * (size - 1)
            tokenized = None if separate is None else pack_separately(group, orders, examples, before, separate)
            yield pack(group, orders, examples, before, prompts.layout), tokenized


def packed_size(
    items: Sequence[ChoiceItem], demonstrations: Sequence[Demonstration], examples: int, fits: Fits
) -> tuple[int, list[Demonstration]]:
    """Return the number of facts for one sequence, and its examples: before the first fact, then five per gap.

    There are fewer facts if the context or the relation is too small for all, and fewer examples if it is too small
    for a single fact.
    """
    for size in range(min(FACTS, len(items)), 1, -1):
        group = items[:size]
        count = examples + EVERY * (size - 1)
        usable = demonstrations_for(list(map(attrgetter("fact"), group)), demonstrations, count)
        if len(usable) < count:
            continue
        if fits(pairs_of(usable[:examples]), [*pairs_of(usable[examples:]), *map(_longest, group)]):
            return size, usable
    usable = demonstrations_for([items[0].fact], demonstrations, examples)
    tail = [_longest(items[0])]
    count = fitting(len(usable), lambda count: fits(pairs_of(usable[:count]), tail))
    return 1, usable[:count]


def pack(
    items: Sequence[ChoiceItem],
    orders: Sequence[Sequence[int]],
    demonstrations: Sequence[Demonstration],
    before: int,
    layout: Layout,
) -> Sequences:
    """Return facts in sequences.

    The facts are of one relation; ``orders`` has, for each, the positions of its choices in the order of the sequences.
    ``before`` demonstrations come before the first fact, and five in each gap between two facts.
    """
    if not demonstrations:
        return Sequences(items, "", [], [], orders, [Prompt("", "", "", 0)] * len(items))
    beginning = layout.examples(demonstrations[:before])
    ends = range(before, before + EVERY * len(items), EVERY)
    gaps = [*(layout.examples(demonstrations[end : end + EVERY]) for end in ends[:-1]), ""]
    prompts: list[str] = []
    continuations: list[str] = []
    own_prompts: dict[int, Prompt] = {}
    for sequence in range(max(map(len, orders))):
        text = beginning
        for number, (item, order) in enumerate(zip(items, orders, strict=True)):
            place = order[sequence % len(order)]
            subject, choice = item.fact.subject_label, item.labels[place]
            prompts.append(layout.after(text, subject))
            continuations.append(choice)
            if place == 0:
                shown = layout.prompt(demonstrations[: ends[number]], subject)
                own_prompts.setdefault(number, Prompt(prompts[-1], beginning, shown.ending, ends[number]))
            text = layout.after(layout.after(text, layout.example(subject, choice)), gaps[number])
    shown_prompts = [own_prompts[number] for number in range(len(items))]
    return Sequences(items, beginning, prompts, continuations, orders, shown_prompts)


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
    beginning = tokens.ids(pairs_of(demonstrations[:before]))
    ends = range(before, before + EVERY * len(items), EVERY)
    prompts = []
    for sequence in range(max(map(len, orders))):
        ids = beginning
        for item, order, end in zip(items, orders, ends, strict=True):
            choice = item.labels[order[sequence % len(order)]]
            prompts.append(tokens.prompt(ids, item.fact.subject_label, choice))
            ids = tokens.after(ids, [(item.fact.subject_label, choice), *pairs_of(demonstrations[end : end + EVERY])])
    return prompts


def _longest(item: ChoiceItem) -> Pair:
    return item.fact.subject_label, max(item.labels, key=len)


def _unscorable(reason: str) -> TokenizedPrompt:
    return TokenizedPrompt((), (0,), ((),), None, {0: reason})
