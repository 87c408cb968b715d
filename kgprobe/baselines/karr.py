"""KaRR: how much more probable the object is for this subject and relation than for others.

Dong et al. 2023; docs/methods/baselines.md. The form used here, for one cloze sentence c of the fact (s, r, o):

    KaRR(c) = sqrt( Pr(o | c) / E[ Pr(o | c with s' for s) ]  ·  Pr(o | c) / E[ Pr(o | c' about s) ] )

where Pr(o | ·) is the sum over the object's names as in :mod:`~kgprobe.baselines.probability`, s' is another subject of
the same type, and c' is a cloze sentence of another relation. Both means are over samples. The original also takes
means over the subject's aliases and the relation's sentences within Pr; here a sentence stands for itself, as in every
other baseline, and the subject goes by its label. :mod:`.karr_authors` has the form of the authors' code.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from kgprobe.baselines.asked import Asked, Values, asked_of, single
from kgprobe.baselines.probability import log_probability
from kgprobe.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.graph.client import Graph
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.clozes import ClozeItem
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.subjects import other_subjects
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import SUBJECT

# Sets the draw of other relations apart from all others that follow from the same seed.
RELATIONS = 3

# How many other subjects, and other relations, a fact is held against.
_CONTRASTS = 20

NO_SUBJECT = "the graph has no other subject of its kind"
NO_RELATION = "the graph has no other relation with a cloze sentence"
FIXED_SUBJECT = "its sentence has no place for another subject"


@dataclass(frozen=True, slots=True)
class Contrasts:
    """What a fact is held against.

    Attributes:
        subjects: labels of other subjects.
        templates: cloze sentences of other relations, one each.
    """

    subjects: tuple[str, ...]
    templates: tuple[str, ...]


def draw_contrasts(graph: Graph, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[Contrasts]:
    """Other subjects and other relations for each fact, at random.

    Relations are drawn from those of the graph that are active and have cloze sentences, uniformly, and one of their
    sentences each; subjects as :func:`~kgprobe.sampling.subjects.other_subjects` says.

    Args:
        keys: facts of the graph.
        count: how many of each; there are fewer where the graph has no more.
        seed: what follows from it does not depend on what stands beside a fact.
    """
    clozes = {row["id"]: row["clozes"] for row in graph.read("sample/relations") if row["active"] and row["clozes"]}
    relations = {row["fact"]: row["relation"] for row in graph.read("sample/facts", rows=[k._asdict() for k in keys])}
    drawn = []
    for key, subjects in zip(keys, other_subjects(graph, keys, count, seed), strict=True):
        generator = np.random.default_rng([*seed, RELATIONS, zlib.crc32(key.fact.encode())])
        others = [relation for relation in sorted(clozes) if relation != relations[key.fact]]
        chosen = [others[place] for place in generator.permutation(len(others))[:count]]
        templates = tuple(clozes[relation][generator.integers(len(clozes[relation]))] for relation in chosen)
        drawn.append(Contrasts(tuple(subjects), templates))
    return drawn


def karr(scorer: Scorer, asked: Sequence[Asked], contrasts: Sequence[Contrasts]) -> Values:
    """The knowledge assessment risk ratio of each sentence.

    Range: [0, ∞); 1 where subject and relation make no difference to the object's probability, more where they speak
    for it. Ratios of different facts can be compared, but have no upper bound.

    Cost: one scoring of the sentences and of all their contrasts, with the names as continuations.

    Args:
        asked: sentences with a place for the subject.
        contrasts: one for each sentence; those that the model cannot take are left out of the means.
    """
    reasons: dict[int, str] = {}
    questions: list[Asked] = []
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for number, (one, contrast) in enumerate(zip(asked, contrasts, strict=True)):
        if SUBJECT not in one.cloze.template:
            reasons[number] = FIXED_SUBJECT
        elif not contrast.subjects or not contrast.templates:
            reasons[number] = NO_RELATION if contrast.subjects else NO_SUBJECT
        else:
            first = len(questions)
            questions.append(one)
            questions += [Asked(replace(one.cloze, subject=subject), one.names) for subject in contrast.subjects]
            middle = len(questions)
            questions += [Asked(Cloze(template, one.cloze.subject), one.names) for template in contrast.templates]
            groups[number] = (list(range(first, middle)), list(range(middle, len(questions))))
    logs = log_probability(scorer, questions)
    values = np.full(len(asked), np.nan)
    for number, ((own, *subjects), relations) in groups.items():
        if own in logs.reasons:
            reasons[number] = logs.reasons[own]
            continue
        means = []
        for others, missing in ((subjects, NO_SUBJECT), (relations, NO_RELATION)):
            known = logs.values[others][~np.isnan(logs.values[others])]
            if not len(known):
                reasons[number] = missing
                break
            means.append(logsumexp(known) - np.log(len(known)))
        else:
            values[number] = np.exp(logs.values[own] - np.mean(means))
    return Values(values, reasons)


def _measure(tools: Tools, items: Sequence[ClozeItem]) -> BySentence:
    drawn = draw_contrasts(tools.graph, [item.fact.key for item in items], _CONTRASTS, [tools.seed])
    of_sentences = [contrasts for item, contrasts in zip(items, drawn, strict=True) for _ in item.clozes]
    return single(karr(tools.scorer, asked_of(items), of_sentences))


BASELINE = BaselineKind("karr", "how much more probable the object is here than for others", _measure)
