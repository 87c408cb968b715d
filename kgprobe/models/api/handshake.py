"""Whether a server's log-probabilities are the model's own, found out on the server itself.

A server that ignores what it does not know still answers, with numbers that look right. So before anything is scored,
a text goes to it: twice, with its options in another order and one by one, as ids and as text, behind other tokens,
beside other requests, and with settings of the drawing that should have no say. What is never the same, always the
same, or changes where it should not, is not believed. The first way in which everything is as it should be is taken.

What cannot be seen from outside: a server that divides all logits by a number of its own and ignores a bias.
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
# Nats, between requests of which one follows the other. The same request gave the same to the last digit (llama.cpp, 4
# bits a weight).
TOLERANCE = 0.1
# Nats, between requests in another order or side by side: what a server has in its cache, and what it computes
# together, decides where it rounds. The same server differed by 0.15; half precision does by less.
ROUNDING = 0.5
# Nats. What differs by less is the same number.
_SAME = 1e-3
_OPTIONS, _FEWEST_OPTIONS = 8, 3
_SIDE_BY_SIDE = 8
_TEMPERATURE, _BIAS = 0.5, 1.0


@dataclass(frozen=True, slots=True)
class Told:
    """What a server says of options behind a text.

    Attributes:
        values: a log-probability an option, shape (options,).
        drawn: the id of the token that it went on with; None where it does not tell.
        prompt_tokens: how many it counts; None where it does not.
    """

    values: Floats
    drawn: int | None
    prompt_tokens: int | None


@dataclass(frozen=True, slots=True)
class Handshake:
    """A way that a server can be believed in.

    Attributes:
        difference: the greatest, in nats, between answers that should have been equal.
        findings: for each way that was tried, in order, what came of it.
    """

    way: Way
    difference: float
    findings: tuple[tuple[str, str], ...]


# Asks by a way what stands behind a prefix; raises UntrustworthyError.
Ask = Callable[[Way, Question], Told]

# Asks several at once, as many side by side as scoring will.
AskTogether = Callable[[Way, Sequence[Question]], list[Told]]

# Whether a question can be put in a way at all.
Can = Callable[[Way, Question], bool]


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is asked behind: ids by the model's tokenizer, with special tokens in front as it puts them by itself.

    Attributes:
        text: of ``TEXT``.
        other: of ``OTHER_TEXT``.
    """

    text: tuple[int, ...]
    other: tuple[int, ...]


def shake_hands(
    name: str, ask_together: AskTogether, can: Can, prompts: Prompts, ways: Sequence[str] = tuple(WAYS)
) -> Handshake:
    """The first of these ways in which a server's log-probabilities can be believed.

    Cost: some forty requests a way; one to a server that does not have it.

    Args:
        name: of the model, for messages.
        ask_together: asks the server; equal questions are sent again.
        can: what it is asked with; some options cannot be sent as text.

    Raises:
        KgprobeError: there is none; the message says of each what it lacks.
    """
    findings: list[tuple[str, str]] = []
    for called in ways:
        way = WAYS[called]
        try:
            difference = _examine(way, ask_together, can, prompts)
        except UntrustworthyError as error:
            findings.append((called, str(error)))
            continue
        told = f"agrees with itself to {difference:.1e} nats"
        return Handshake(way, difference, (*findings, (called, told)))
    reasons = " ".join(f"{called}: {finding}" for called, finding in findings)
    raise KgprobeError(f"{name} cannot score: no log-probabilities of its server can be used. {reasons}")


class _Agrees(Protocol):
    def __call__(self, told: Floats, expected: Floats, problem: str, allowed: float = TOLERANCE) -> None:
        """Raise an UntrustworthyError unless these are equal, up to what is allowed."""


def _examine(way: Way, ask_together: AskTogether, can: Can, prompts: Prompts) -> float:
    """The greatest difference between answers that should be equal.

    Raises:
        UntrustworthyError: it is greater than allowed, or answers are equal that should not be.
    """

    def ask(way: Way, question: Question) -> Told:
        return ask_together(way, [question])[0]

    prompt = prompts.text
    sent = [
        option
        for option in dict.fromkeys(prompt[::-1])
        if can(way, Question(prompt, (option,))) and can(way, Question(prompts.other, (option,)))
    ]
    options = tuple(sent[:_OPTIONS])
    if len(options) < _FEWEST_OPTIONS:
        raise UntrustworthyError("It takes text only, and what is to be asked cannot be sent as text.")
    plain = Question(prompt, options)
    first = ask(way, plain)
    greatest = 0.0

    def agrees(told: Floats, expected: Floats, problem: str, allowed: float = TOLERANCE) -> None:
        nonlocal greatest
        difference = float(np.abs(told - expected).max())
        if not difference <= allowed:
            raise UntrustworthyError(f"{problem} (by up to {difference:.2g} nats; {allowed:g} are allowed).")
        greatest = max(greatest, difference)

    agrees(ask(way, plain).values, first.values, "The same request gives other log-probabilities")
    turned = ask(way, Question(prompt, options[::-1]))
    agrees(turned.values[::-1], first.values, "Log-probabilities depend on the order in which options are asked")
    alone = [ask(way, Question(prompt, (option,))).values[0] for option in options[:2]]
    agrees(np.array(alone), first.values[:2], "Log-probabilities depend on which other options are asked")
    if np.ptp(first.values) < _SAME:
        raise UntrustworthyError("All options are equally probable, whatever they are.")
    other = ask(way, Question(prompts.other, options))
    if np.abs(other.values - first.values).max() < _SAME:
        raise UntrustworthyError("Log-probabilities do not depend on the prompt.")
    # Of what is repeated, the last is an option itself.
    whole = Question(prompt[:-1], prompt[-1:]) if way.follow else plain
    _check_tokens(ask(way, replace(whole, text=TEXT)), ask(way, whole), len(prompt), agrees)
    _check_drawing(ask, way, plain, first.values)
    _check_drawn(ask, way, whole, plain, first.values)
    _check_side_by_side(ask_together, way, can, prompt, options[:2], agrees)
    return greatest


def _check_tokens(text: Told, ids: Told, count: int, agrees: _Agrees) -> None:
    """Whether the server makes the same tokens of a text."""
    for told in (text, ids):
        if told.prompt_tokens not in (None, count):
            raise UntrustworthyError(
                f"The tokenizer is not the server's: it makes {count} tokens of a text, the server"
                f" {told.prompt_tokens}. `tokenizer` names another."
            )
    problem = "The tokenizer is not the server's: a text and its tokens have other log-probabilities"
    agrees(text.values, ids.values, problem)


def _check_side_by_side(
    ask_together: AskTogether,
    way: Way,
    can: Can,
    prompt: tuple[int, ...],
    options: tuple[int, ...],
    agrees: _Agrees,
) -> None:
    """Whether requests that are under way at once get what each of them gets alone."""
    asked = [Question(prompt[:end], options) for end in range(len(prompt), 1, -1)]
    possible = [one for one in asked if all(can(way, replace(one, targets=(option,))) for option in options)]
    several = possible[:_SIDE_BY_SIDE]
    alone = [ask_together(way, [one])[0] for one in several]
    for told, wanted in zip(ask_together(way, several), alone, strict=True):
        problem = "Requests side by side get other log-probabilities than one by one, as `concurrency` 1 sends them"
        agrees(told.values, wanted.values, problem, ROUNDING)


def _check_drawing(ask: Ask, way: Way, plain: Question, values: Floats) -> None:
    """Whether temperature and bias have no say, or exactly theirs, so that there are none where none is asked for."""
    other = replace(plain, temperature=_TEMPERATURE, bias=((plain.targets[0], _BIAS),))
    told = ask(way, other).values
    if np.abs(told - values).max() <= TOLERANCE:
        return
    biased = values.copy()
    biased[0] += _BIAS
    # Up to what all of them share.
    wanted = biased / _TEMPERATURE
    difference = np.abs((told - told[1]) - (wanted - wanted[1])).max()
    if not difference <= 2 * TOLERANCE / _TEMPERATURE:
        raise UntrustworthyError(
            "Log-probabilities are those after the server's own sampling (temperature, top-k, penalties): with another"
            " temperature and a bias they are neither the same nor what follows from them"
            f" (by {difference:.2g} nats)."
        )


def _check_drawn(ask: Ask, way: Way, whole: Question, plain: Question, values: Floats) -> None:
    """Whether the token that the server goes on with at temperature 0 is the most probable."""
    drawn = ask(way, replace(whole, temperature=0.0)).drawn
    if drawn is None or drawn < 0:
        raise UntrustworthyError("It does not tell the token that it goes on with, so nothing says what it draws from.")
    best = ask(way, Question(plain.prefix, tuple(dict.fromkeys((drawn, *plain.targets))))).values[0]
    if not best >= values.max() - TOLERANCE:
        raise UntrustworthyError(
            f"The token that the server goes on with at temperature 0 has a log-probability of {best:.3g}, and another"
            f" {values.max():.3g}: these are not the probabilities that it draws from."
        )
