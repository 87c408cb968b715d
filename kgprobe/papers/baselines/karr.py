"""KaRR: probability of the object for this subject and relation, relative to others.

Dong et al. 2023; docs/methods/baselines.md. There are two forms. The first is for one cloze sentence c of the fact
(s, r, o):

    KaRR(c) = sqrt( Pr(o | c) / E[ Pr(o | c with s' for s) ]  ·  Pr(o | c) / E[ Pr(o | c' about s) ] )

where Pr(o | ·) is the sum over the object's names as in :mod:`~kgprobe.papers.baselines.probability`, s' is another
subject of the same type, and c' is a cloze sentence of another relation. Both means are over samples. Each sentence has
its own value, as in the other baselines, and the subject is given by its label.

The second is that of the authors' code: over paraphrases and aliases, weighted by the probability of each prompt. With
P(x) the geometric mean of the probabilities of the tokens of x (of the last ones where x has a condition):

    own     = Σ over sentences t and names a of s:  P(t[a]) · Σ over names y of o  P(y | t[a])
    subject = own / mean over subjects s' of the relation of the same sum with the names of s'
    relation = own / mean over relations r' of o of  Σ over names a of s:  P(a) · Σ over y  P(t'[a, y] | a)
    KaRR    = √(subject · relation)

where t' is a sentence of r', drawn at random. Subjects and relations are drawn from all, including the fact's own.
"""

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from scipy.special import logsumexp

from kgprobe.graph.client import Graph
from kgprobe.graph.rows import rows_by
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode, not_unicode
from kgprobe.papers.baselines.items import BaselineItem, Floats, Values, baseline_items
from kgprobe.papers.baselines.probability import log_probability
from kgprobe.papers.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.probes.clozes import ClozeItem
from kgprobe.sampling.distractors import SUBJECTS, other_subjects
from kgprobe.sampling.facts import describe_facts
from kgprobe.sampling.keys import FactKey, key_rows
from kgprobe.sampling.pool_draws import PoolDraws, Tried, relation_pool
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
    """
    clozes = {row["id"]: row["clozes"] for row in graph.read("sample/relations") if row["active"] and row["clozes"]}
    facts = describe_facts(graph, keys)
    drawn = []
    for fact, subjects in zip(facts, other_subjects(graph, facts, count, seed), strict=True):
        others = [relation for relation in sorted(clozes) if relation != fact.relation]
        drawn.append(Contrasts(tuple(subjects), draw_templates(fact.key, others, clozes, count, seed)))
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
            clozes += [Cloze(other, item.cloze.subject, item.cloze.articles) for other in contrast.templates]
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


# The authors' number of subjects, relations, sentences and names.
TAKEN = 4

UNTAKEN = "the model cannot score its sentences: they are too long, or have a single token"


@dataclass(frozen=True, slots=True)
class AuthorsContrasts:
    """Subjects and relations that a fact is compared with.

    Attributes:
        subjects: names of subjects of the fact's relation, one tuple each.
        templates: cloze sentences of relations of the fact's object, one each.
    """

    subjects: tuple[tuple[str, ...], ...]
    templates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuthorsCase:
    """A fact with its names and contrasts.

    Attributes:
        clozes: the fact's sentences, each with a placeholder for the subject.
        subject, object: names.
    """

    clozes: tuple[Cloze, ...]
    subject: tuple[str, ...]
    object: tuple[str, ...]
    contrasts: AuthorsContrasts


@dataclass(frozen=True, slots=True)
class _Part:
    """A text whose last tokens are scored, as many as ``rest`` has; all tokens for None."""

    text: str
    rest: str | None = None


_Scores = Mapping[_Part, float]
_Tokens = tuple[int, ...]


def draw_authors_contrasts(graph: Graph, keys: Sequence[FactKey], seed: Sequence[int]) -> list[AuthorsContrasts]:
    """Draw subjects of each fact's relation and relations of its object, at most ``TAKEN`` each, uniformly.

    Cost: a listing of the subjects of each relation, once per call.
    """
    rows = rows_by("fact", graph.read("sample/relations_of_objects", rows=key_rows(keys)))
    pools = list(map(relation_pool, describe_facts(graph, keys)))
    clozes = {row["id"]: row["clozes"] for row in graph.read("sample/relations") if row["active"] and row["clozes"]}

    def read_names(tried: Tried) -> list[dict[int, tuple[str, ...]]]:
        numbers = sorted(set().union(*(drawn for _, drawn in tried)))
        names = {row["number"]: _first(row["names"]) for row in graph.read("sample/names_by_number", numbers=numbers)}
        return [{number: names[number] for number in drawn if names.get(number)} for _, drawn in tried]

    drawn = PoolDraws(graph).draw(keys, pools, TAKEN, [*seed, SUBJECTS], read_names)
    contrasts = []
    for key, subjects in zip(keys, drawn, strict=True):
        known = [relation for relation in rows[key.fact]["relations"] if relation in clozes]
        contrasts.append(AuthorsContrasts(tuple(subjects), draw_templates(key, known, clozes, TAKEN, seed)))
    return contrasts


def karr_authors(scorer: Scorer, cases: Sequence[AuthorsCase]) -> list[float | str]:
    """Return the authors' knowledge assessment risk ratio of each fact, or the reason why it has none.

    Range: [0, ∞).

    Cost: one scoring of all texts; at most 16 prompts and 64 sentences per fact, and five times as many for contrasts.
    """
    scores = _geometric_means(scorer, set(chain.from_iterable(map(_parts, cases))))
    return [_authors_ratio(case, scores) for case in cases]


def _authors_ratio(case: AuthorsCase, scores: _Scores) -> float | str:
    if not all(SUBJECT in cloze.template for cloze in case.clozes):
        return FIXED_SUBJECT
    own = _weighted(case, case.subject, scores)
    subjects = [_weighted(case, names, scores) for names in case.contrasts.subjects]
    relations = []
    for template in case.contrasts.templates:
        # The sum over names of P(subject) · Σ P(rest of the sentence | subject).
        terms = ((_Part(name), _sentences(case, template, name)) for name in case.subject)
        relations.append(_sum_products(terms, scores))
    if own is None:
        return UNTAKEN
    ratios = []
    for contrasts, missing in ((subjects, NO_SUBJECT), (relations, NO_RELATION)):
        scored = [contrast for contrast in contrasts if contrast is not None]
        if not scored:
            return missing
        ratios.append(own / (sum(scored) / len(scored)))
    return math.sqrt(math.prod(ratios))


def _weighted(case: AuthorsCase, subject: Sequence[str], scores: _Scores) -> float | None:
    """Return the sum over sentences and names of P(prompt) · Σ P(object | prompt); None where none can be scored."""
    return _sum_products(chain.from_iterable(_prompts(cloze, subject, case.object) for cloze in case.clozes), scores)


def _sum_products(groups: Iterable[tuple[_Part, Sequence[_Part]]], scores: _Scores) -> float | None:
    """Return the sum of P(first) · Σ P(rest) over the groups where it is a number, as the authors do; None for none."""
    numbers = []
    for first, rest in groups:
        term = scores[first] * sum(map(scores.__getitem__, rest))
        if not math.isnan(term):
            numbers.append(term)
    return sum(numbers) if numbers else None


def _parts(case: AuthorsCase) -> Iterator[_Part]:
    for subject in (case.subject, *case.contrasts.subjects):
        for cloze in case.clozes:
            for prompt, parts in _prompts(cloze, subject, case.object):
                yield prompt
                yield from parts
    for name in case.subject:
        yield _Part(name)
        for template in case.contrasts.templates:
            yield from _sentences(case, template, name)


def _prompts(cloze: Cloze, subject: Sequence[str], names: Sequence[str]) -> Iterator[tuple[_Part, list[_Part]]]:
    """Yield the sentence's prompt for each name of the subject, with the parts that end in the object's names."""
    for name in subject:
        filled = replace(cloze, subject=name)
        prompt = filled.prompt
        yield _Part(prompt), [_Part(f"{prompt} {text}", text) for text in filled.continuations(names)]


def _sentences(case: AuthorsCase, template: str, subject: str) -> list[_Part]:
    """Return the template's sentences about a subject and the object, scored without the subject."""
    filled = Cloze(template, subject, all(cloze.articles for cloze in case.clozes))
    texts = [f"{filled.prompt} {text}" for text in filled.continuations(case.object)]
    return [_Part(text, text.replace(subject, "", 1).strip()) for text in texts]


def _geometric_means(scorer: Scorer, parts: Iterable[_Part]) -> dict[_Part, float]:
    """Return the geometric mean of the probabilities of the scored tokens of each part; NaN where it has none."""
    ordered = sorted(parts, key=lambda part: (part.text, part.rest or ""))
    means = dict.fromkeys(ordered, math.nan)
    tails = _by_context(scorer, ordered)
    prompts = []
    for context, members in tails.items():
        starts = (len(context),) * len(members)
        prompts.append(TokenizedPrompt(context, starts, tuple(tail for _, tail in members)))
    for members, values in zip(tails.values(), scorer.score_tokenized(prompts), strict=True):
        for (part, tail), value in zip(members, values.values, strict=True):
            means[part] = math.exp(value / len(tail))
    return means


def _by_context(scorer: Scorer, parts: Sequence[_Part]) -> dict[_Tokens, list[tuple[_Part, _Tokens]]]:
    """Return the parts that the model can score with their scored tokens, by the tokens before these."""
    invalid = not_unicode([part.text for part in parts])
    valid = [part for number, part in enumerate(parts) if number not in invalid]
    texts = encode(scorer.tokenizer, [part.text for part in valid])
    rests = encode(scorer.tokenizer, [f" {part.rest or ''}" for part in valid])
    tails: dict[_Tokens, list[tuple[_Part, _Tokens]]] = {}
    for part, text, rest in zip(valid, texts, rests, strict=True):
        ids = (*scorer.leading, *text)
        # The very first token has no prediction.
        most = len(ids) - max(len(scorer.leading), 1)
        count = most if part.rest is None else min(most, len(rest))
        if count > 0 and (scorer.max_tokens is None or len(ids) - 1 <= scorer.max_tokens):
            tails.setdefault(ids[:-count], []).append((part, ids[-count:]))
    return tails


def _first(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first distinct names that are not white space."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, names))))[:TAKEN]


def measure_authors(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    """Return the value of each fact, once for each of its sentences."""
    drawn = draw_authors_contrasts(tools.graph, [item.fact.key for item in facts], [tools.seed])
    cases = []
    for item, contrasts in zip(facts, drawn, strict=True):
        subject = _first((item.fact.subject_label, *item.fact.subject_aliases))
        names = _first((item.fact.object_label, *item.fact.object_aliases))
        cases.append(AuthorsCase(tuple(item.clozes[:TAKEN]), subject, names, contrasts))
    by_sentence: list[float | str] = []
    for item, ratio in zip(facts, karr_authors(tools.scorer, cases), strict=True):
        by_sentence += [ratio] * len(item.clozes)
    return Values.of(by_sentence).by_sentence()


def _measure(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    return measure_authors(tools, facts) if tools.karr == "authors" else measure_sentences(tools, facts)


BASELINE = BaselineKind("karr", "probability of the object here, relative to other subjects and relations", _measure)
