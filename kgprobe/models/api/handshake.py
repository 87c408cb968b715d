"""Handshake with a server: a test whether its log-probabilities can be trusted, before anything is scored.

A server that ignores unknown parameters still returns plausible numbers. At most eight requests ask for the same values
in several ways: twice, with the options in another order and without some of them, as ids and as text, after half of
the text, in parallel with other requests, and with sampling parameters that should not affect the result. One request
varies several things at once; only if its values differ, single requests find the reason. Values that always vary,
never vary, or vary where they should not, are rejected. The first method that passes all tests is used.

Not detected: a server that divides all logits by a constant and ignores a bias.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.models.api.next_tokens import MAX_TOTAL, METHODS, Edge, Question, Reply, ServerMethod, UntrustworthyError

# With digits, words and letters of several scripts, so that tokenizers differ on it.
TEXT = "Tokyo is in Japan, Łódź is in Poland, 東京 is Tokyo; 1, 2, 3, 4, 5, 6, 7"
# Nats, between successive requests. Repeated requests gave equal digits (llama.cpp, 4 bits per weight).
TOLERANCE = 0.1
# Nats, between requests in another order or in parallel: rounding depends on the server's cache and batches. The same
# server differed by 0.15; half precision differs by less.
ROUNDING = 0.5
# Nats. Smaller differences count as equal.
_SAME = 1e-3
_OPTIONS, _MIN_OPTIONS = 8, 3
_TEMPERATURE, _BIAS = 0.5, 1.0

_REPEATED = "The same request gives other log-probabilities"
_ORDER = "Log-probabilities depend on the order in which options are asked"
_OTHERS = "Log-probabilities depend on which other options are asked"
_TOKENIZER = "The tokenizer is not the server's: a text and its tokens have other log-probabilities"
_SAMPLING = (
    "Log-probabilities are those after the server's own sampling (temperature, top-k, penalties): another temperature"
    " and a bias change them by other amounts than expected"
)


class Handshake(msgspec.Struct, frozen=True):
    """Result of the test: the first method that passed.

    Attributes:
        difference: largest difference in nats between answers that should be equal.
        findings: name and result of each tested method, in order.
        versions: versions of the server that gave the answers.
    """

    name: str
    difference: float
    findings: list[tuple[str, str]]
    versions: list[str]

    @property
    def method(self) -> ServerMethod:
        """The method."""
        return METHODS[self.name]


# Sends several questions in parallel, each once; raises UntrustworthyError.
AskTogether = Callable[[ServerMethod, Sequence[Question]], list[Reply]]

# Returns True if a method can express a question.
Can = Callable[[ServerMethod, Question], bool]


def shake_hands(
    name: str, ask_together: AskTogether, can: Can, text: tuple[int, ...], methods: Sequence[str] = tuple(METHODS)
) -> Handshake:
    """Return the first of these methods whose log-probabilities can be trusted.

    Cost: at most eight requests for a method that passes; one if the server lacks it; up to five more to find the
    reason why a method fails.

    Args:
        can: returns True if a method can express a question; some options cannot be sent as text.
        text: token ids of ``TEXT``, with the special tokens that the tokenizer adds.
    """
    findings: list[tuple[str, str]] = []
    for method in map(METHODS.__getitem__, methods):
        examination = Examination(method, ask_together, can)
        try:
            difference = examination.run(text)
        except UntrustworthyError as error:
            findings.append((method.name, str(error)))
            continue
        findings.append((method.name, f"agrees with itself to {difference:.1e} nats"))
        return Handshake(method.name, difference, findings, sorted(examination.versions))
    reasons = " ".join(f"{method_name}: {finding}" for method_name, finding in findings)
    raise KgprobeError(f"{name} cannot score: no log-probabilities of its server can be used. {reasons}")


class Examination:
    """A test of one method: all values of a token after the same tokens are compared with the first one."""

    def __init__(
        self, method: ServerMethod, ask_together: AskTogether, can: Can, alone: str = "`concurrency` 1"
    ) -> None:
        """Prepare a test; messages name ``alone`` as the setting that sends requests one by one."""
        self._method = method
        self._ask_together = ask_together
        self._can = can
        self._alone = alone
        self._values: dict[Edge, float] = {}
        self._greatest = 0.0
        self.versions: set[str] = set()

    def run(self, prompt: tuple[int, ...]) -> float:
        """Return the largest difference in nats of values that should be equal, or raise UntrustworthyError."""
        options = self._options(prompt, dict.fromkeys(prompt[::-1]))
        shorter = (prompt[:end] for end in range(len(prompt) // 2, 0, -1))
        half = next((part for part in shorter if self._options(part, options[:1])), ())
        if len(options) < _MIN_OPTIONS or not half:
            raise UntrustworthyError("It accepts only text, and the test cannot be sent as text.")
        if self._method.follow:
            drawn = self._check_echo(prompt, half, options)
        elif self._method.partial:
            drawn = self._check_listed(prompt, half, options)
        else:
            drawn = self._check_chosen(prompt, half, options)
        self._check_distribution(prompt, half, drawn)
        return self._greatest

    def _check_echo(self, prompt: tuple[int, ...], half: tuple[int, ...], options: tuple[int, ...]) -> int:
        """Compare the values of the text's own tokens; return the token generated after the text."""
        whole = Question(prompt[:1], prompt[1:], temperature=0.0)
        drawn = self._drawn(self._ask([whole], "")[0])
        sampling = {"temperature": 1.0, "bias": ((options[0], _BIAS),)}
        self._check_changed(whole, [({}, _REPEATED), ({"text": TEXT}, _TOKENIZER), (sampling, _SAMPLING)])
        choices = tuple(dict.fromkeys((drawn, *options)))[:_MIN_OPTIONS]
        ends = [(prompt, choice) for choice in choices] + [(half, options[0])]
        self._check_parallel(None, [Question(before[:1], (*before[1:], choice)) for before, choice in ends])
        return drawn

    def _check_listed(self, prompt: tuple[int, ...], half: tuple[int, ...], options: tuple[int, ...]) -> int:
        """Compare listed tokens with forced ones; return the token generated after the text."""
        (reply,) = self._send([Question(prompt, options, temperature=0.0)])
        drawn = self._drawn(reply)
        rare = next((token for token, value in zip(options, reply.values, strict=True) if value is None), options[-1])
        rare = next(token for token in (rare, *options) if token != drawn)
        forced = [Question(prompt, (drawn,)), Question(prompt, (rare,))]
        for question in forced:
            self._ask([question], "")
        sampling = {"temperature": _TEMPERATURE, "bias": ((rare, _BIAS),)}
        listed = Question(prompt, (drawn, rare))
        self._check_changed(listed, [({}, _OTHERS), ({"text": TEXT}, _TOKENIZER), (sampling, _SAMPLING)])
        self._check_parallel(Question(half, (drawn,)), [*forced, Question(half, (drawn,))])
        return drawn

    def _check_chosen(self, prompt: tuple[int, ...], half: tuple[int, ...], options: tuple[int, ...]) -> int:
        """Compare the values of chosen tokens; return the token generated after the text."""
        drawn = self._drawn(self._send([Question(prompt, options, temperature=0.0)])[0])
        plain = Question(prompt, tuple(dict.fromkeys((*options, drawn))))
        self._ask([plain], "")
        turned, few = plain.targets[::-1], options[::-2]
        changes = [({}, _REPEATED), ({"targets": turned}, _ORDER), ({"targets": few}, _OTHERS)]
        self._check_changed(plain, [*changes, ({"text": TEXT}, _TOKENIZER)])
        self._check_drawing(plain)
        questions = [replace(plain, targets=turned), replace(plain, targets=few), Question(half, few)]
        self._check_parallel(Question(half, options), questions)
        return drawn

    def _options(self, prompt: tuple[int, ...], tokens: Collection[int]) -> tuple[int, ...]:
        """Return the first tokens that can be asked after a prompt."""
        return tuple(token for token in tokens if self._can(self._method, Question(prompt, (token,))))[:_OPTIONS]

    def _drawn(self, reply: Reply) -> int:
        if not isinstance(reply.drawn, int) or reply.drawn < 0:
            raise UntrustworthyError("It does not report the generated token, so its distribution cannot be checked.")
        return reply.drawn

    def _send(self, questions: Sequence[Question]) -> list[Reply]:
        replies = self._ask_together(self._method, questions)
        self.versions.update(reply.version for reply in replies)
        return replies

    def _ask(self, questions: Sequence[Question], problem: str, allowed: float = TOLERANCE) -> list[Reply]:
        """Ask in parallel; raise UntrustworthyError if a value differs from the first one by more than allowed."""
        replies = self._send(questions)
        difference = 0.0
        for question, reply in zip(questions, replies, strict=True):
            for edge, value in zip(self._method.edges(question), reply.values, strict=True):
                if value is not None:
                    difference = max(difference, abs(self._values.setdefault(edge, value) - value))
        if not difference <= allowed:
            raise UntrustworthyError(f"{problem} (by up to {difference:.2g} nats; {allowed:g} are allowed).")
        self._greatest = max(self._greatest, difference)
        return replies

    def _check_changed(self, question: Question, changes: Sequence[tuple[dict[str, Any], str]]) -> None:
        """Check that changes have no effect: all at once, and one by one only to name the one that has.

        Args:
            changes: changed attributes of the question, and the problem if they have an effect.
        """
        everything: dict[str, Any] = {}
        for change, _ in changes:
            everything |= change
        try:
            self._ask([replace(question, **everything)], "Log-probabilities depend on the form of a request")
        except UntrustworthyError:
            for change, problem in changes:
                self._ask([replace(question, **change)], problem)
            raise

    def _check_parallel(self, alone: Question | None, questions: Sequence[Question]) -> None:
        """Check that parallel requests give the same results as single ones, of which the last is still to ask."""
        if alone is not None:
            self._ask([alone], "")
        problem = f"Parallel requests give other log-probabilities than single ones; try {self._alone}"
        self._ask(questions, problem, ROUNDING)

    def _check_drawing(self, plain: Question) -> None:
        """Check that temperature and bias have either no effect or exactly the expected one."""
        values = np.array([self._values[edge] for edge in self._method.edges(plain)])
        (reply,) = self._send([replace(plain, temperature=_TEMPERATURE, bias=((plain.targets[0], _BIAS),))])
        sampled = np.array(reply.values, dtype=float)
        if np.abs(sampled - values).max() <= TOLERANCE:
            return
        biased = values.copy()
        biased[0] += _BIAS
        # Compare up to the normalization.
        expected = biased / _TEMPERATURE
        difference = np.abs((sampled - sampled[1]) - (expected - expected[1])).max()
        if not difference <= 2 * TOLERANCE / _TEMPERATURE:
            raise UntrustworthyError(f"{_SAMPLING} (by {difference:.2g} nats).")

    def _check_distribution(self, prompt: tuple[int, ...], half: tuple[int, ...], drawn: int) -> None:
        """Check that values vary with option and prompt, and that the token generated at temperature 0 is the best."""
        after = {target: value for (before, target), value in self._values.items() if before == prompt}
        total, best = sum(map(math.exp, after.values())), max(after.values())
        if best - min(after.values()) < _SAME:
            raise UntrustworthyError("All options are equally probable.")
        if total > MAX_TOTAL:
            raise UntrustworthyError(
                f"Probabilities of {len(after)} options sum to {total:.3g}; at most 1 is expected."
            )
        differences = [abs(after[token] - self._values.get((half, token), after[token])) for token in after]
        if max(differences) < _SAME:
            raise UntrustworthyError("Log-probabilities do not depend on the prompt.")
        if not after[drawn] >= best - TOLERANCE:
            raise UntrustworthyError(
                f"The token generated at temperature 0 has a log-probability of {after[drawn]:.3g}, and another token"
                f" {best:.3g}: these are not the probabilities that it draws from."
            )
