"""KaRR of single sentences: probability of the object for this subject and relation, relative to others.

Dong et al. 2023; docs/methods/baselines.md. The form used here, for one cloze sentence c of the fact (s, r, o):

    KaRR(c) = sqrt( Pr(o | c) / E[ Pr(o | c with s' for s) ]  ·  Pr(o | c) / E[ Pr(o | c' about s) ] )

where Pr(o | ·) is the sum over the object's names as in :mod:`~kgprobe.papers.baselines.probability`, s' is another
subject of the same type, and c' is a cloze sentence of another relation. Both means are over samples. The original also
takes means over the subject's aliases and the relation's sentences within Pr. Here each sentence has its own value, as
in the other baselines, and the subject is given by its label. :mod:`.karr_authors` has the form of the authors' code.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from kgprobe.graph.client import Graph
from kgprobe.graph.rows import column_by
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.papers.baselines.items import BaselineItem, Floats, Values, baseline_items
from kgprobe.papers.baselines.probability import log_probability
from kgprobe.papers.baselines.register import BySentence, Tools
from kgprobe.probes.clozes import ClozeItem
from kgprobe.sampling.distractors import other_subjects
from kgprobe.sampling.keys import FactKey, key_rows
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.kinds import SUBJECT

# Key of the random stream of other relations, different from all other streams of the same seed.
_RELATIONS = 3

# Number of other subjects, and of other relations, that a fact is compared with.
_CONTRASTS = 20

NO_SUBJECT = "the graph has no other subject of its kind"
NO_RELATION = "the graph has no other relation with a cloze sentence"
FIXED_SUBJECT = "its sentence has no placeholder for the subject"


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Other subjects and relations that a fact is compared with.

    Attributes:
        subjects: labels of other subjects.
        templates: cloze sentences, one of each other relation.
    """

    subjects: tuple[str, ...]
    templates: tuple[str, ...]


def draw_contrasts(graph: Graph, keys: Sequence[FactKey], count: int, seed: Sequence[int]) -> list[Contrasts]:
    """Draw other subjects and other relations for each fact.

    Relations are drawn uniformly from the graph's active relations with cloze sentences, and one sentence of each.
    Subjects are drawn by :func:`~kgprobe.sampling.distractors.other_subjects`.

    Args:
        keys: facts of the graph.
        count: number of subjects and of relations; fewer where the graph has no more.
        seed: random seed; the draws for a fact do not depend on the other facts.
    """
    clozes = {row["id"]: row["clozes"] for row in graph.read("sample/relations") if row["active"] and row["clozes"]}
    relations = column_by("fact", "relation", graph.read("sample/facts", rows=key_rows(keys)))
    drawn = []
    for key, subjects in zip(keys, other_subjects(graph, keys, count, seed), strict=True):
        others = [relation for relation in sorted(clozes) if relation != relations[key.fact]]
        drawn.append(Contrasts(tuple(subjects), draw_templates(key, others, clozes, count, seed)))
    return drawn


def draw_templates(
    key: FactKey, relations: Sequence[str], clozes: Mapping[str, Sequence[str]], count: int, seed: Sequence[int]
) -> tuple[str, ...]:
    """Draw one cloze sentence of each of ``count`` relations, or of all if there are fewer, for a fact."""
    generator = np.random.default_rng([*seed, _RELATIONS, zlib.crc32(key.fact.encode())])
    templates = []
    for place in generator.permutation(len(relations))[:count]:
        sentences = clozes[relations[int(place)]]
        templates.append(sentences[int(generator.integers(len(sentences)))])
    return tuple(templates)


def karr(scorer: Scorer, items: Sequence[BaselineItem], contrasts: Sequence[Contrasts]) -> Values:
    """Return the knowledge assessment risk ratio of each sentence.

    Range: [0, ∞); 1 where subject and relation make no difference to the object's probability, higher where they
    raise it. Ratios of different facts can be compared, but have no upper bound.

    Cost: one scoring of the sentences and of all their contrasts, with the names as continuations.

    Args:
        items: sentences with a placeholder for the subject.
        contrasts: one for each sentence; contrasts that the model cannot score are left out of the means.
    """
    sentences: list[BaselineItem] = []
    results: list[float | str] = []
    firsts: dict[int, int] = {}
    for number, (item, contrast) in enumerate(zip(items, contrasts, strict=True)):
        if SUBJECT not in item.cloze.template:
            results.append(FIXED_SUBJECT)
        elif not contrast.subjects:
            results.append(NO_SUBJECT)
        elif not contrast.templates:
            results.append(NO_RELATION)
        else:
            results.append(np.nan)
            firsts[number] = len(sentences)
            clozes = [item.cloze]
            clozes += [replace(item.cloze, subject=other) for other in contrast.subjects]
            clozes += [Cloze(other, item.cloze.subject) for other in contrast.templates]
            sentences += [BaselineItem(cloze, item.names) for cloze in clozes]
    logs = log_probability(scorer, sentences)
    for number, own in firsts.items():
        middle = own + 1 + len(contrasts[number].subjects)
        end = middle + len(contrasts[number].templates)
        ratio = _ratio(logs.values[own], logs.values[own + 1 : middle], logs.values[middle:end])
        results[number] = logs.reasons.get(own, ratio)
    return Values.of(results)


def _ratio(own: float, subjects: Floats, relations: Floats) -> float | str:
    """Return the ratio by the logarithms of the probabilities, or the reason why there is none."""
    means = []
    for others, missing in ((subjects, NO_SUBJECT), (relations, NO_RELATION)):
        known = others[~np.isnan(others)]
        if not len(known):
            return missing
        means.append(logsumexp(known) - np.log(len(known)))
    return float(np.exp(own - np.mean(means)))


def measure_sentences(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    """Return the value of each of the facts' sentences."""
    drawn = draw_contrasts(tools.graph, [fact.fact.key for fact in facts], _CONTRASTS, [tools.seed])
    by_sentence: list[Contrasts] = []
    for fact, contrasts in zip(facts, drawn, strict=True):
        by_sentence += [contrasts] * len(fact.clozes)
    return karr(tools.scorer, baseline_items(facts), by_sentence).by_sentence()
