"""Probe that finds the object in a model's greedy continuation.

Appendix H.6 of the latent-knowledge paper; docs/methods/generation.md. Names are found as in answers to questions
(:func:`kgprobe.verbalize.answers.mentions_in`): whole words, ignoring case and accents; a longer name of an object of
the relation takes precedence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kgprobe.base.progress import share_counter
from kgprobe.graph.client import Graph, Row
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.models.scoring.tokens import join
from kgprobe.probes.asking import in_order
from kgprobe.probes.clozes import ClozeItem
from kgprobe.probes.distractors.evidence import NamedEntity
from kgprobe.probes.examples.prompts import NO_EXAMPLE, Layout, Prompt, PromptWriter, Room, sentence_prompt
from kgprobe.probes.generation import GenerationOptions
from kgprobe.probes.generation.evidence import GenerationEvidence, NameInText, counted_end
from kgprobe.probes.known_names import KnownNames, related_names
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.register import ProbeContext
from kgprobe.sampling.facts import AskedFact, describe_facts, read_answers
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.answers import (
    Mention,
    all_mentions,
    can_be_found,
    is_refusal,
    mentions_in,
    near_values,
    normalized,
    sentences,
)
from kgprobe.verbalize.language import ENGLISH, Language, language_of


def _placed(text: str, names: Sequence[str], of: "ObjectNames") -> tuple[NameInText, ...]:
    mentions = mentions_in(text, names, of.is_name, of.tolerance, of.language)
    return tuple(map(_name_in_text, sorted(mentions, key=lambda mention: (mention.start, -mention.end))))


def _name_in_text(mention: Mention) -> NameInText:
    return NameInText(mention.name, mention.start, mention.end, mention.words)


@dataclass(frozen=True, slots=True)
class ObjectNames:
    """Names to look for in a text.

    Attributes:
        further: names of the subject's other right objects.
        former: names of objects that were right before and no longer are.
        is_name: returns True for normalized names of the relation's objects, those above included.
        tolerance: relative difference of numbers that is right; None for rounding to the stated digits.
    """

    own: Sequence[str]
    further: Sequence[str]
    former: Sequence[str]
    is_name: Callable[[str], bool]
    tolerance: float | None = None
    language: Language = ENGLISH


def permission(options: GenerationOptions, language: Language = ENGLISH) -> str:
    """Return the text before each prompt; empty without a permission."""
    return f"{language.prompts.permission_to_continue}\n\n" if options.allow_unknown else ""


def continuation_request(prompt: Prompt, layout: Layout, new_tokens: int, permission: str = "") -> Request:
    """Return the request to continue a prompt.

    After examples, the separator before an object follows, without white space at the end.
    """
    text = join(prompt.text, layout.separator, "").rstrip() if prompt.examples else prompt.text
    return Request(permission + text, new_tokens, continuation=True)


def outcome_of_text(
    fact: AskedFact, prompt: Prompt, request: str, answer: Answer | Unanswered, names: ObjectNames, until: str
) -> Outcome:
    """Return the outcome of a fact by the names in the generated text: right if it names the object.

    Cost: about 12 look-ups per word.

    ``until`` is the part of the text that counts, one of ``ENDS``.
    """
    written, is_declined = (answer.text, answer.refused) if isinstance(answer, Answer) else ("", False)
    counted = counted_end(written, until)
    mentions = _find_names(written[:counted], fact, names)
    # Names after a refusal are further examples.
    others = [*mentions["former"], *mentions["beside"], *([mentions["other"]] if mentions["other"] else [])]
    begin = sentences(written[: min((name.start for name in others), default=counted)])[:1]
    evidence = GenerationEvidence(
        subject=fact.subject_label,
        object=NamedEntity(fact.object, fact.object_label),
        asked=prompt.ending,
        examples=prompt.examples,
        text=written,
        counted=counted,
        **mentions,
        refused=not mentions["named"] and (is_declined or any(is_refusal(text, names.language) for text in begin)),
    )
    if isinstance(answer, Unanswered):
        return Outcome(fact.key, Verdict.UNANSWERED, fact.relation, request, answer.reason, evidence)
    if evidence.named:
        verdict = Verdict.RIGHT
    elif evidence.refused:
        verdict = Verdict.REFUSED
    else:
        verdict = Verdict.WRONG if normalized(written[:counted]) else Verdict.OFF_FORMAT
    return Outcome(fact.key, verdict, fact.relation, request, evidence=evidence)


def reason_unfindable(names: Sequence[str]) -> str | None:
    """Return why an object with these names cannot be found in a text; None if it can."""
    if any(map(can_be_found, names)):
        return None
    return "no name of its object has a letter, a digit or a symbol, so it cannot be found in a text"


def _find_names(text: str, fact: AskedFact, names: ObjectNames) -> dict[str, Any]:
    """Find the names of a fact's objects, and of the relation's others, in a text; by field of the evidence."""
    subject = (fact.subject_label, *fact.subject_aliases)
    right = set(map(normalized, (*subject, *names.own, *names.further)))
    others = (mention for mention in all_mentions(text, names.is_name) if normalized(mention.name) not in right)
    return {
        "named": _placed(text, names.own, names),
        "former": _placed(text, names.former, names),
        "beside": _placed(text, names.further, names),
        "near": tuple(near_values(text, names.own, names.tolerance)),
        "other": next(map(_name_in_text, others), None),
    }


# Share of a batch's progress that generation takes; the rest is reading the texts.
_WRITING = 0.95


class GenerationProbe:
    """Probe that lets a model continue a prompt about each fact. Right if the text names the object."""

    def __init__(
        self,
        graph: Graph,
        prompts: PromptWriter,
        generator: Generator,
        options: GenerationOptions,
        *,
        as_of: int,
    ) -> None:
        """Make a probe; the prompts leave room for the new tokens, and right objects are those at ``as_of``."""
        self.relations: Sequence[str] = prompts.relations
        self._graph = graph
        self._prompts = prompts
        self._generator = generator
        self._options = options
        self._as_of = as_of
        self._known = KnownNames(graph)
        self._permission = permission(options, language_of(graph.language))

    def describe(self) -> dict[str, Any]:
        """Return model, prompts and length of the text; see :class:`~kgprobe.probes.outcome.Probe`."""
        generator = {name: value for name, value in self._generator.describe().items() if name != "prompt"}
        return {
            "model": self._generator.name,
            "generator": {**generator, "form": "text to go on with, over the ends of lines"},
            "new_tokens": self._options.new_tokens,
            "until": self._options.until,
            "tolerance": self._options.tolerance,
            "permission": self._permission,
            **self._prompts.describe(),
        }

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        """Return an outcome for each fact; see :class:`~kgprobe.probes.outcome.Probe`.

        Cost: with examples, one scan of the graph's facts for a new seed. For each fact a pass over its whole prompt,
        and one pass for each new token. The names of a relation's objects are read once.
        """
        described = describe_facts(self._graph, facts)
        sentences = self._prompts.sentences(facts, seed)
        reasons: list[str | None] = []
        asked: list[tuple[AskedFact, Prompt]] = []
        requests: list[Request] = []
        for fact, sentence in zip(described, sentences, strict=True):
            prompt = self._prompt(fact, sentence, seed)
            if isinstance(prompt, str):
                reasons.append(prompt)
                continue
            reasons.append(None)
            asked.append((fact, prompt))
            layout = self._prompts.examples.layout
            requests.append(continuation_request(prompt, layout, self._options.new_tokens, self._permission))
        answers = self._generator.answer(requests, share_counter(len(requests), _WRITING))
        objects = read_answers(self._graph, [fact.key for fact, _ in asked], self._as_of)
        outcomes = []
        for (fact, prompt), request, answer in zip(asked, requests, answers, strict=True):
            names = self._names(fact, objects[fact.key.fact])
            outcomes.append(outcome_of_text(fact, prompt, request.prompt, answer, names, self._options.until))
        share_counter(len(outcomes))(len(outcomes))
        return in_order(described, reasons, outcomes)

    def _prompt(self, fact: AskedFact, sentence: ClozeItem | None, seed: Sequence[int]) -> Prompt | str:
        """Return the prompt of a fact, or the reason why there is none."""
        reason = self._prompts.reason_unaskable(fact, sentence)
        if reason is not None:
            return reason
        reason = reason_unfindable((fact.object_label, *fact.object_aliases))
        if reason is not None:
            return reason
        if sentence is not None:
            return sentence_prompt(sentence.clozes[0])
        prompt = self._prompts.examples.prompt(fact, self._prompts.demonstrations(seed)[fact.relation])
        return prompt if prompt.examples else NO_EXAMPLE

    def _names(self, fact: AskedFact, objects: Sequence[Row]) -> ObjectNames:
        """Return the names of a fact's objects, see :func:`~kgprobe.sampling.facts.read_answers`."""
        own = (fact.object_label, *fact.object_aliases)
        further: list[str] = []
        former: list[str] = []
        for row in objects:
            if row["id"] != fact.object and (row["current"] or row["former"]):
                names = further if row["current"] else former
                names.extend(filter(str.strip, (row["label"], *row["aliases"])))
        is_name = related_names(fact, (*own, *further, *former), self._known)
        language = language_of(self._graph.language)
        return ObjectNames(own, further, former, is_name, self._options.tolerance, language)


def make_probe(setting: ProbeContext, options: GenerationOptions) -> GenerationProbe:
    """Return the probe of a model, graph and options."""
    model = setting.model
    before = permission(options, language_of(setting.graph.language))
    room = Room(model.scorer() if model.scores else None, options.new_tokens, before)
    prompts = PromptWriter(setting.graph, options, room, as_of=setting.as_of, relations=setting.relations)
    return GenerationProbe(setting.graph, prompts, model.generator(), options, as_of=setting.as_of)
