"""Profiles of WikiProfile's facts: asked, read, and decided by the paper's rule.

Calderon et al. 2026 (2602.14080), sections 2 to 4; docs/methods/wikiprofile.md. A question is answered if more than
half of its answers are right. A fact is encoded if a task with its context is answered, and recalled if all four
questions without context are. Answers are read by the names in them; the paper has a model as a grader.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kgprobe.datasets.wikiprofile import COMPLETION, DIRECT, ENCODING, REVERSE, WikiProfileFact, WikiProfileOptions
from kgprobe.labelling.classes import NO_ANSWERS, Counts
from kgprobe.labelling.table import PROFILE
from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered, describe_thinking
from kgprobe.models.generating.thinking import Thinking
from kgprobe.progress import OnProgress, no_progress
from kgprobe.verbalize.answers import named_in

RECALLED, BY_THINKING, ENCODED, NOT_ENCODED = PROFILE
# The paper's *inference without encoding*, and a fact that is recalled but not encoded, which the paper excludes.
THOUGHT_OUT, UNEXPLAINED = "by thinking, not encoded", "recalled, not encoded"
PROFILES = (*PROFILE, THOUGHT_OUT)

_QUESTIONS = (*DIRECT, *REVERSE)
# Names of the same questions in tables, asked with thinking or with choices.
WITH_THINKING, WITH_CHOICES = "{}, with thinking", "{}, with choices"

_PROMPTS = {
    COMPLETION: "Continue the text with the name that comes next.\n\n{}",
    "": "Answer the question with a name, as briefly as you can.\n\nQuestion: {}\nAnswer:",
}
_CHOOSE = "Answer the question with the letter of the right choice.\n\nQuestion: {}\n{}\nAnswer:"
_LETTER = re.compile(r"\W*(?i:the )?(?i:answer|choice)?(?i: is)?\W*([A-Z])(?:[.):,]|\s*$)")


@dataclass(frozen=True, slots=True)
class ProfiledFact:
    """A fact with its profile.

    Attributes:
        counts: right and all answers, by task.
        profile: an entry of ``PROFILES``, or ``UNEXPLAINED``; None if answers are missing.
        encoded: highest share of right answers with context; None without answers.
        recalled, by_thinking: lowest share of right answers to the four questions; None without answers.
    """

    fact: WikiProfileFact
    counts: Mapping[str, Counts]
    profile: str | None
    encoded: float | None
    recalled: float | None
    by_thinking: float | None


@dataclass(frozen=True, slots=True)
class _Task:
    """A question about a fact, with the test of an answer to each sample's prompt."""

    name: str
    prompts: Sequence[str]
    tests: Sequence[Callable[[str], bool]]
    thinking: Thinking | None


def profile_facts(
    facts: Sequence[WikiProfileFact],
    generator: Generator,
    options: WikiProfileOptions,
    seed: int,
    on_progress: OnProgress = no_progress,
) -> list[ProfiledFact]:
    """Ask a model all questions about some facts, and return their profiles, in order.

    Cost: ``samples`` answers to each of 6 questions per fact, 4 more with thinking, and 4 more with choices; in one
    call. A model on this machine computes each prompt once.

    Args:
        seed: of the sampled answers.
        on_progress: called with the numbers of finished and of all answers.

    Raises:
        ArgumentError: the model cannot be set to the mode of thinking.
        KgprobeError: the model cannot be asked at all, or its budget is spent.
    """
    thinking = Thinking.parse(options.thinking)
    describe_thinking(generator, thinking)
    tasks = [_tasks_of(fact, options, thinking) for fact in facts]
    requests = list(_requests(tasks, options, seed))
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        on_progress(done, len(requests))

    answers = iter(generator.answer(requests, count))
    profiled = []
    for fact, own in zip(facts, tasks, strict=True):
        counts: dict[str, Counts] = {}
        for task in own:
            counts[task.name] = _count(task, list(islice(answers, len(task.prompts))))
        profiled.append(profiled_fact(fact, counts, options.threshold))
    return profiled


def profiled_fact(fact: WikiProfileFact, counts: Mapping[str, Counts], threshold: float) -> ProfiledFact:
    """Return a fact with the profile that its answers give.

    A task without any answer is left out. Without answers to both tasks with context, or to both questions of a
    direction, the profile is None (appendix D.1).

    Args:
        counts: right and all answers, by task.
        threshold: a task is answered if the share of its right answers is greater.
    """
    shares = {task: count.right / count.answers for task, count in counts.items() if count.answers}
    encoded = max((shares[task] for task in ENCODING if task in shares), default=None)
    recalled = _lowest(shares, "{}")
    by_thinking = _lowest(shares, WITH_THINKING)
    profile = None
    if encoded is not None and recalled is not None:
        profile = _profile(encoded > threshold, recalled > threshold, (by_thinking or 0.0) > threshold)
    return ProfiledFact(fact, counts, profile, encoded, recalled, by_thinking)


def _profile(encoded: bool, recalled: bool, by_thinking: bool) -> str:
    if recalled:
        return RECALLED if encoded else UNEXPLAINED
    if by_thinking:
        return BY_THINKING if encoded else THOUGHT_OUT
    return ENCODED if encoded else NOT_ENCODED


def _lowest(shares: Mapping[str, float], form: str) -> float | None:
    """Return the lowest share of the questions without context; None if a direction has none."""
    lowest = []
    for direction in (DIRECT, REVERSE):
        own = [shares[name] for name in map(form.format, direction) if name in shares]
        if not own:
            return None
        lowest.append(min(own))
    return min(lowest)


def _tasks_of(fact: WikiProfileFact, options: WikiProfileOptions, thinking: Thinking | None) -> list[_Task]:
    # The model's default may be to think.
    plain = None if thinking is None else Thinking(is_on=False)
    tasks = []
    for name in (*ENCODING, *_QUESTIONS):
        if name not in fact.texts:
            continue
        prompt = _PROMPTS.get(name, _PROMPTS[""]).format(fact.texts[name])
        is_right = _naming(fact.answers[_direction(name)])
        repeated = [prompt] * options.samples, [is_right] * options.samples
        tasks.append(_Task(name, *repeated, plain))
        if name in _QUESTIONS and thinking is not None and thinking.is_on:
            tasks.append(_Task(WITH_THINKING.format(name), *repeated, thinking))
        if name in _QUESTIONS and options.recognition and fact.choices[_direction(name)]:
            tasks.append(_choosing(fact, name, options.samples, plain))
    return tasks


def _direction(task: str) -> str:
    return "reverse" if task in REVERSE else "direct"


def _naming(names: Sequence[str]) -> Callable[[str], bool]:
    return lambda text: bool(named_in(text, names))


def _choosing(fact: WikiProfileFact, name: str, samples: int, thinking: Thinking | None) -> _Task:
    """Return a question with choices; the right one takes each place in turn."""
    (right, *_), wrong = fact.answers[_direction(name)], fact.choices[_direction(name)]
    prompts, tests = [], []
    for sample in range(samples):
        place = sample % (len(wrong) + 1)
        choices = [*wrong[:place], right, *wrong[place:]]
        letters = [chr(ord("A") + number) for number in range(len(choices))]
        lines = "\n".join(f"{letter}. {choice}" for letter, choice in zip(letters, choices, strict=True))
        prompts.append(_CHOOSE.format(fact.texts[name], lines))
        tests.append(_chosen(letters[place], right, wrong))
    return _Task(WITH_CHOICES.format(name), prompts, tests, thinking)


def _chosen(letter: str, right: str, wrong: Sequence[str]) -> Callable[[str], bool]:
    """Return a test of an answer: it begins with the letter, or names the right choice alone."""

    def is_right(text: str) -> bool:
        given = _LETTER.match(text)
        if given is not None:
            return given[1] == letter
        return bool(named_in(text, [right])) and not named_in(text, wrong)

    return is_right


def _requests(tasks: Sequence[Sequence[_Task]], options: WikiProfileOptions, seed: int) -> Iterator[Request]:
    seeds = [int(np.random.SeedSequence([seed, sample]).generate_state(1)[0] >> 1) for sample in range(options.samples)]
    for own in tasks:
        for task in own:
            for prompt, number in zip(task.prompts, seeds, strict=True):
                yield Request(prompt, options.answer_tokens, options.temperature, number, thinking=task.thinking)


def _count(task: _Task, answers: Sequence[Answer | Unanswered]) -> Counts:
    """Return the right answers to a task among those that the model gave."""
    right = count = 0
    for is_right, answer in zip(task.tests, answers, strict=True):
        if isinstance(answer, Answer):
            count += 1
            right += is_right(answer.text)
    return Counts(right, count) if count else NO_ANSWERS
