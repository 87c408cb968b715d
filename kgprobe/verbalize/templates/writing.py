"""Clozes for a relation that has none, written by a language model and weighed by it.

The model answers several times (:mod:`kgprobe.models.generating.local`); what its answers hold is checked
(:mod:`.proposals`), and what passes is ranked by how probable the objects of real facts are to the model behind it. A
sentence that has no word in common with the relation has to tell the relation's facts from swapped ones, too. What this
cannot see is a sentence that is wrong in a likely way, such as one the wrong way round in words of its own (*[X] was
the writer of [Y]*, where [X] is the book): people have to look through what was written.
"""

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgprobe.models.generating.generator import Request, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.records import Relation
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.examples import Example
from kgprobe.verbalize.templates.proposals import Shot, objections, proposed, shares_word, shot_of, writing_prompt
from kgprobe.verbalize.tense import has_ended

# Facts that a cloze is weighed by.
WEIGHED_FACTS = 16
# Of pairs of facts, the share that has to be more probable than the same pairs with their objects swapped.
PAIRED = 2 / 3
# Below 1 a model keeps closer to what it finds probable.
TEMPERATURE = 0.8
_NEW_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Weighed:
    """A cloze, and what a model makes of it.

    Attributes:
        log_probability: of the object's label behind the sentence, natural logarithm, mean over some facts.
        paired: of pairs of facts, the share that is more probable than the same pair with the objects swapped; 0.5 is
            what chance gives. None where there is no pair.
    """

    cloze: str
    log_probability: float
    paired: float | None


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote for a relation.

    Attributes:
        clozes: those that can be asked, the most probable first.
        rejected: the others, each with what speaks against it.
        silent: how many answers held no sentence at all.
    """

    clozes: Sequence[Weighed]
    rejected: Mapping[str, Sequence[str]]
    silent: int


def write_clozes(
    scorer: Scorer,
    relation: Relation,
    examples: Sequence[Example],
    shots: Sequence[Shot],
    others: Sequence[Relation],
    *,
    answers: int,
    keep: int,
    seed: int,
    as_of: int,
) -> Written:
    """Let a model write clozes for a relation.

    Args:
        scorer: the model that writes and weighs.
        relation: the one to write for.
        examples: facts of it, at least one.
        shots: other relations with a cloze each, to learn from.
        others: the graph's other relations, none of which it may speak of.
        answers: how often the model answers.
        keep: how many clozes are kept.
        seed: what the answers follow from, together with the relation's id.
        as_of: facts that ended before it (``yyyymmdd``) are not spoken of in the present, if there are others.

    Raises:
        TextError: the examples are longer than the model takes in or memory holds, or it cannot take a name of the
            facts.

    Cost: ``answers`` continuations of some tokens, and ``WEIGHED_FACTS`` prompts with as many names for each proposal.
    """
    current = [example for example in examples if not has_ended(example.end, as_of)] or list(examples)
    shown = shot_of(relation, current)
    drawn = _draw(scorer, writing_prompt(shots, shown), answers, [seed, zlib.crc32(relation.id.encode())])
    held = [proposed(answer, shown) for answer in drawn]
    proposals = list(dict.fromkeys(cloze for its in held for cloze in its))
    kept, rejected = choose(scorer, relation, proposals, current, others)
    return Written(kept[:keep], rejected, sum(not its for its in held))


def _draw(scorer: Scorer, prompt: str, count: int, seed: Sequence[int]) -> list[str]:
    """Answers to one prompt, drawn independently of each other.

    Raises:
        TextError: the model cannot take the prompt.
    """
    seeds = np.random.default_rng(seed).integers(2**31, size=count).tolist()
    texts = []
    for answer in LocalGenerator(scorer).answer([Request(prompt, _NEW_TOKENS, TEMPERATURE, own) for own in seeds]):
        if isinstance(answer, Unanswered):
            raise TextError(answer.reason)
        texts.append(answer.text)
    return texts


def choose(
    scorer: Scorer,
    relation: Relation,
    proposals: Sequence[str],
    examples: Sequence[Example],
    others: Sequence[Relation],
) -> tuple[list[Weighed], dict[str, Sequence[str]]]:
    """Which proposed clozes can be asked, the most probable first, and what speaks against each of the others.

    Arguments and errors as of :func:`write_clozes`.
    """
    rejected: dict[str, Sequence[str]] = {}
    passed = []
    for cloze in proposals:
        if problems := objections(cloze, relation, examples, others):
            rejected[cloze] = problems
        else:
            passed.append(cloze)
    kept = []
    for one in weigh(scorer, passed, examples):
        if shares_word(one.cloze, relation) or (one.paired is not None and one.paired >= PAIRED):
            kept.append(one)
        else:
            share = "" if one.paired is None else f" ({one.paired:.0%} of pairs)"
            rejected[one.cloze] = [f"has no word of the relation, and does not tell its facts from swapped ones{share}"]
    return sorted(kept, key=lambda one: (-one.log_probability, one.cloze)), rejected


def weigh(scorer: Scorer, clozes: Sequence[str], examples: Sequence[Example]) -> list[Weighed]:
    """How probable a model finds the objects of facts behind each of these clozes, in their order.

    Args:
        clozes: templates that can be filled.
        examples: facts of one relation, at least one; those of the first ``WEIGHED_FACTS`` subjects count, one each.

    Raises:
        TextError: the model cannot take a name of the facts.
    """
    objects: dict[str, str] = {}
    for example in examples:
        objects.setdefault(example.subject, example.object)
    facts = list(objects.items())[:WEIGHED_FACTS]
    filled = [(template, Cloze(template, subject)) for template in clozes for subject, _ in facts]
    names = [[cloze.continuations([object_])[0] for _, object_ in facts] for _, cloze in filled]
    scores = scorer.score([cloze.prompt for _, cloze in filled], names)
    for scored in scores:
        for reason in scored.reasons.values():
            raise TextError(reason)
    weighed = []
    for number, template in enumerate(clozes):
        # Of each subject (rows) and each object (columns).
        matrix = np.stack([scored.values for scored in scores[number * len(facts) : (number + 1) * len(facts)]])
        own = matrix.diagonal()
        # What is probable anyway is so before and after a swap.
        gains = (own[:, None] + own - matrix - matrix.T)[np.triu_indices(len(facts), 1)]
        different = [one != other for place, (_, one) in enumerate(facts) for _, other in facts[place + 1 :]]
        pairs = gains[np.array(different, dtype=bool)]
        weighed.append(Weighed(template, float(own.mean()), float((pairs > 0).mean()) if len(pairs) else None))
    return weighed


def reason_for_none(written: Written, answers: int) -> str:
    """Why nothing of what a model wrote can be asked, with what speaks against most of it."""
    if not written.rejected:
        return f"none of {answers} answers holds a sentence with [X] and [Y]"
    counts = Counter(problem for problems in written.rejected.values() for problem in problems)
    most = "; ".join(f"{count} × {problem}" for problem, count in counts.most_common(3))
    return f"none of {len(written.rejected)} proposals can be asked: {most}"
