"""Test of a server's log-probabilities before scoring.

A server that ignores unknown parameters still returns plausible numbers. So a test text is sent twice, with the options
in another order and one by one, as ids and as text, after other tokens, in parallel with other requests, and with
sampling parameters that should not affect the result. Values that always vary, never vary, or vary where they should
not, are rejected. The first method that passes all tests is used.

Not detected: a server that divides all logits by a constant and ignores a bias.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.models.api.next_tokens import WAYS, Question, UntrustworthyError, Way

Floats = NDArray[np.float64]

# With digits, words and letters of several scripts, so that tokenizers differ on it.
TEXT = "Tokyo is in Japan, Łódź is in Poland, 東京 is Tokyo; 1, 2, 3, 4, 5, 6, 7"
OTHER_TEXT = "7, 6, 5: Poland is in Łódź"
# Nats, between successive requests. Repeated requests gave equal digits (llama.cpp, 4 bits per weight).
TOLERANCE = 0.1
# Nats, between requests in another order or in parallel: rounding depends on the server's cache and batches. The same
# server differed by 0.15; half precision differs by less.
ROUNDING = 0.5
# Nats. Smaller differences count as equal.
_SAME = 1e-3
_OPTIONS, _MIN_OPTIONS = 8, 3
_PARALLEL = 8
_TEMPERATURE, _BIAS = 0.5, 1.0


@dataclass(frozen=True, slots=True)
class OptionScores:
    """A server's scores of options after a text.

    Attributes:
        values: log-probabilities, shape (options,).
        drawn: id of the generated token; None if unknown.
        prompt_tokens: number of tokens of the prompt, by the server; None if unknown.
    """

    values: Floats
    drawn: int | None
    prompt_tokens: int | None


@dataclass(frozen=True, slots=True)
class Handshake:
    """Result of the test: the first method that passed.

    Attributes:
        difference: largest difference in nats between answers that should be equal.
        findings: name and result of each tested method, in order.
    """

    way: Way
    difference: float
    findings: tuple[tuple[str, str], ...]


# Scores a question with a method; raises UntrustworthyError.
Ask = Callable[[Way, Question], OptionScores]

# Scores several questions in parallel.
AskTogether = Callable[[Way, Sequence[Question]], list[OptionScores]]

# Returns True if a method can express a question.
Can = Callable[[Way, Question], bool]


@dataclass(frozen=True, slots=True)
class Prompts:
    """Token ids of ``TEXT`` and ``OTHER_TEXT``, with the special tokens that the tokenizer adds."""

    text: tuple[int, ...]
    other: tuple[int, ...]


def shake_hands(
    name: str, ask_together: AskTogether, can: Can, prompts: Prompts, ways: Sequence[str] = tuple(WAYS)
) -> Handshake:
    """Return the first of these methods whose log-probabilities can be trusted.

    Cost: some forty requests per method; one if the server lacks it.

    Args:
        name: name of the model, for messages.
        ask_together: sends requests to the server, also repeated ones.
        can: returns True if a method can express a question; some options cannot be sent as text.

    Raises:
        KgprobeError: No method can be trusted; the message lists the reasons.
    """
    findings: list[tuple[str, str]] = []
    for way in (WAYS[way_name] for way_name in ways):
        try:
            difference = _examine(way, ask_together, can, prompts)
        except UntrustworthyError as error:
            findings.append((way.name, str(error)))
            continue
        finding = f"agrees with itself to {difference:.1e} nats"
        return Handshake(way, difference, (*findings, (way.name, finding)))
    reasons = " ".join(f"{way_name}: {finding}" for way_name, finding in findings)
    raise KgprobeError(f"{name} cannot score: no log-probabilities of its server can be used. {reasons}")


class _Agrees(Protocol):
    def __call__(self, values: Floats, expected: Floats, problem: str, allowed: float = TOLERANCE) -> None:
        """Raise UntrustworthyError if values differ by more than allowed."""


def _examine(way: Way, ask_together: AskTogether, can: Can, prompts: Prompts) -> float:
    """Return the largest difference between answers that should be equal.

    Raises:
        UntrustworthyError: It is larger than allowed, or answers are equal that should differ.
    """

    def ask(way: Way, question: Question) -> OptionScores:
        return ask_together(way, [question])[0]

    prompt = prompts.text
    expressible = [
        option
        for option in dict.fromkeys(prompt[::-1])
        if can(way, Question(prompt, (option,))) and can(way, Question(prompts.other, (option,)))
    ]
    options = tuple(expressible[:_OPTIONS])
    if len(options) < _MIN_OPTIONS:
        raise UntrustworthyError("It accepts only text, and the test cannot be sent as text.")
    plain = Question(prompt, options)
    first = ask(way, plain)
    greatest = 0.0

    def agrees(values: Floats, expected: Floats, problem: str, allowed: float = TOLERANCE) -> None:
        nonlocal greatest
        difference = float(np.abs(values - expected).max())
        if not difference <= allowed:
            raise UntrustworthyError(f"{problem} (by up to {difference:.2g} nats; {allowed:g} are allowed).")
        greatest = max(greatest, difference)

    agrees(ask(way, plain).values, first.values, "The same request gives other log-probabilities")
    turned = ask(way, Question(prompt, options[::-1]))
    agrees(turned.values[::-1], first.values, "Log-probabilities depend on the order in which options are asked")
    alone = [ask(way, Question(prompt, (option,))).values[0] for option in options[:2]]
    agrees(np.array(alone), first.values[:2], "Log-probabilities depend on which other options are asked")
    if np.ptp(first.values) < _SAME:
        raise UntrustworthyError("All options are equally probable.")
    other = ask(way, Question(prompts.other, options))
    if np.abs(other.values - first.values).max() < _SAME:
        raise UntrustworthyError("Log-probabilities do not depend on the prompt.")
    # With echo, the last token of the text is the option.
    whole = Question(prompt[:-1], prompt[-1:]) if way.follow else plain
    _check_tokens(ask(way, replace(whole, text=TEXT)), ask(way, whole), len(prompt), agrees)
    _check_drawing(ask, way, plain, first.values)
    _check_drawn(ask, way, whole, plain, first.values)
    _check_parallel(ask_together, way, can, prompt, options[:2], agrees)
    return greatest


def _check_tokens(text: OptionScores, ids: OptionScores, count: int, agrees: _Agrees) -> None:
    """Check that the server tokenizes a text in the same way."""
    for scores in (text, ids):
        if scores.prompt_tokens not in (None, count):
            raise UntrustworthyError(
                f"The tokenizer is not the server's: it gives {count} tokens for a text, the server"
                f" {scores.prompt_tokens}. Name another `tokenizer`."
            )
    problem = "The tokenizer is not the server's: a text and its tokens have other log-probabilities"
    agrees(text.values, ids.values, problem)


def _check_parallel(
    ask_together: AskTogether,
    way: Way,
    can: Can,
    prompt: tuple[int, ...],
    options: tuple[int, ...],
    agrees: _Agrees,
) -> None:
    """Check that parallel requests give the same results as single ones."""
    questions: list[Question] = []
    for end in range(len(prompt), 1, -1):
        question = Question(prompt[:end], options)
        if len(questions) < _PARALLEL and all(can(way, replace(question, targets=(option,))) for option in options):
            questions.append(question)
    single = [ask_together(way, [question])[0] for question in questions]
    for scores, expected in zip(ask_together(way, questions), single, strict=True):
        problem = "Parallel requests give other log-probabilities than single ones; try `concurrency` 1"
        agrees(scores.values, expected.values, problem, ROUNDING)


def _check_drawing(ask: Ask, way: Way, plain: Question, values: Floats) -> None:
    """Check that temperature and bias have either no effect or exactly the expected one."""
    other = replace(plain, temperature=_TEMPERATURE, bias=((plain.targets[0], _BIAS),))
    sampled = ask(way, other).values
    if np.abs(sampled - values).max() <= TOLERANCE:
        return
    biased = values.copy()
    biased[0] += _BIAS
    # Compare up to the normalization.
    expected = biased / _TEMPERATURE
    difference = np.abs((sampled - sampled[1]) - (expected - expected[1])).max()
    if not difference <= 2 * TOLERANCE / _TEMPERATURE:
        raise UntrustworthyError(
            "Log-probabilities are those after the server's own sampling (temperature, top-k, penalties): another"
            f" temperature and a bias change them by other amounts than expected (by {difference:.2g} nats)."
        )


def _check_drawn(ask: Ask, way: Way, whole: Question, plain: Question, values: Floats) -> None:
    """Check that the token generated at temperature 0 is the most probable one."""
    drawn = ask(way, replace(whole, temperature=0.0)).drawn
    if drawn is None or drawn < 0:
        raise UntrustworthyError("It does not report the generated token, so its distribution cannot be checked.")
    best = ask(way, Question(plain.prefix, tuple(dict.fromkeys((drawn, *plain.targets))))).values[0]
    if not best >= values.max() - TOLERANCE:
        raise UntrustworthyError(
            f"The token generated at temperature 0 has a log-probability of {best:.3g}, and another token"
            f" {values.max():.3g}: these are not the probabilities that it draws from."
        )
