"""Methods to obtain the log-probability of a chosen token from a server: requests and answers.

- ``token_ids``: vLLM's completions with ``logprob_token_ids`` (its pull request 43463).
- ``n_probs``: llama.cpp's ``/completion``. It returns the most probable tokens and the drawn token, with unbiased
  probabilities. A bias makes any other token the drawn one.
- ``token_ids_logprob``: SGLang's ``/generate``, starting one token before the options, to use its prefix cache.
- ``echo``: completions that repeat the prompt with the log-probabilities of its tokens, sent as ids or as text.

``echo`` is the last choice, and ``prompt_logprobs`` is not used: current servers disable their prefix caches for them.

The log-probabilities are tested before scoring (:func:`shake_hands`), because a server that ignores unknown parameters
still returns plausible numbers. A test text is sent twice, with the options in another order and one by one, as ids and
as text, after other tokens, in parallel with other requests, and with sampling parameters that should not affect the
result. Values that always vary, never vary, or vary where they should not, are rejected. The first method that passes
all tests is used.

Not detected: a server that divides all logits by a constant and ignores a bias.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.models.api.address import Address
from kgprobe.models.api.connection import Fault
from kgprobe.models.api.form import Form
from kgprobe.models.generating.generator import Answer

# Tokens returned by llama.cpp per request, about 100 bytes each.
_TOP_TOKENS = 1000
# Larger than any logit.
_CERTAIN = 1000.0
# Rounding can lift a log-probability above 0 by so much.
_ROUNDING = 1e-3
# Lower numbers mark filtered tokens: servers use -9999 or the smallest float.
_LEAST = -1000.0


class UntrustworthyError(KgprobeError):
    """Raised for log-probabilities of a server that are invalid or incomplete."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request for the log-probabilities of tokens after others.

    Attributes:
        prefix: ids of the preceding tokens, at least one.
        targets: ids of alternatives, or (``echo``) of successive tokens.
        text: text to be sent instead of ids, or None.
        temperature: sampling temperature, which should not affect the answer.
        bias: ids with values added to their logits, which should not affect the answer.
    """

    prefix: tuple[int, ...]
    targets: tuple[int, ...]
    text: str | None = None
    temperature: float = 1.0
    bias: tuple[tuple[int, float], ...] = ()


class Reply(msgspec.Struct, frozen=True):
    """A server's answer to a question.

    Attributes:
        values: natural log-probability of each target; None if the server did not return it.
        drawn: id of the generated token, or its text if the server returns no ids; None if unknown.
        prompt_tokens: number of tokens of the prompt, by the server; None if unknown.
    """

    values: list[float | None]
    drawn: int | str | None = None
    prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ServerMethod:
    """A method to obtain log-probabilities.

    Attributes:
        at_root: True if the path is not below ``/v1``.
        follow: True if targets follow each other.
        partial: True if the values of some of several targets can be missing.
        as_text: True if the prompt is sent as text.
    """

    name: str
    meaning: str
    path: str
    body: Callable[[Question], dict[str, Any]]
    read: Callable[[Any, Question], Reply]
    at_root: bool = False
    follow: bool = False
    partial: bool = False
    as_text: bool = False


class NextTokensForm(Form[Question]):
    """Form of questions to one server, see :class:`.requests.Form`; the text of an answer is a reply as JSON."""

    dispensable = True

    def __init__(self, address: Address, method: ServerMethod) -> None:
        self._name = address.name
        self._model = address.model
        self._method = method
        self.path = f"{root_of(address)}{method.path}" if method.at_root else method.path

    def body(self, question: Question) -> dict[str, Any]:
        """Return the body of the method with the model's name."""
        return {"model": self._model, **self._method.body(question)}

    def size(self, question: Question) -> tuple[int, int]:
        """Return the tokens of the prompt, and 1 for the generated token."""
        return len(question.prefix) + (len(question.targets) if self._method.follow else 0), 1

    def read(self, content: bytes, question: Question) -> Answer | Fault:
        """Return a reply with the values of the targets, or a fault.

        Raises:
            UntrustworthyError: Values are missing, or are not log-probabilities.
        """
        try:
            decoded = msgspec.json.decode(_without_nan(content))
        except UNREADABLE_JSON as error:
            return Fault(f"the server's answer is not JSON: {error}")
        try:
            reply = self._method.read(decoded, question)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise UntrustworthyError(
                f"{self._name} gives no log-probabilities by the method {self._method.name}: its answer lacks"
                f" {type(error).__name__}({error})."
            ) from error
        self._check(reply, question)
        tokens = reply.prompt_tokens if reply.prompt_tokens is not None else self.size(question)[0]
        return Answer(msgspec.json.encode(reply).decode(), prompt_tokens=tokens, completion_tokens=1)

    def _check(self, reply: Reply, question: Question) -> None:
        values = [value for value in reply.values if value is not None]
        can_lack = self._method.partial and len(question.targets) > 1
        if len(values) < len(question.targets) and not can_lack:
            raise UntrustworthyError(
                f"{self._name} gives fewer log-probabilities than asked: {len(values)} of {len(question.targets)}"
                f" (method {self._method.name})."
            )
        for value in values:
            if not math.isfinite(value) or not _LEAST < value <= _ROUNDING:
                raise UntrustworthyError(
                    f"{self._name} gives {value!r} as a log-probability (method {self._method.name}); a number in"
                    f" ({_LEAST:g}, 0] is expected. Does the server filter tokens (top-k, top-p)?"
                )
        # Probabilities of alternatives sum to at most 1.
        total = sum(map(math.exp, values))
        if not self._method.follow and total > 1 + 10 * _ROUNDING:
            raise UntrustworthyError(
                f"{self._name} gives probabilities that sum to {total:.3f} for {len(values)} alternative tokens"
                f" (method {self._method.name}); at most 1 is expected."
            )


def root_of(address: Address) -> str:
    """Return the server's address without ``/v1``."""
    return address.url.removesuffix("/v1")


def _without_nan(content: bytes) -> bytes:
    """Replace NaN and infinities, which servers in Python write and JSON does not allow, by strings."""
    if b"NaN" not in content and b"Infinity" not in content:
        return content
    import json

    return json.dumps(json.loads(content, parse_constant=str)).encode()


def _number(value: Any) -> float:
    """Return a number, NaN for an invalid value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    return float(value)


def _values(values: Mapping[int, Any], question: Question) -> list[float | None]:
    return [_number(values[token]) if token in values else None for token in question.targets]


def _prompt(question: Question) -> str | list[int]:
    return list(question.prefix) if question.text is None else question.text


def _token_ids_body(question: Question) -> dict[str, Any]:
    return {
        "prompt": _prompt(question),
        "max_tokens": 1,
        "temperature": question.temperature,
        "top_p": 1.0,
        "top_k": -1,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "logprobs": 1,
        "logprob_token_ids": list(question.targets),
        "return_tokens_as_token_ids": True,
        "logit_bias": dict(question.bias),
    }


def _read_token_ids(answer: Any, question: Question) -> Reply:
    logprobs = answer["choices"][0]["logprobs"]
    values = {_id(token): value for token, value in logprobs["top_logprobs"][0].items()}
    drawn = _id(logprobs["tokens"][0])
    return Reply(_values(values, question), drawn, _count(answer["usage"]["prompt_tokens"]))


def _id(token: str) -> int:
    """Return 17 for ``token_id:17``."""
    return int(token.removeprefix("token_id:")) if token.startswith("token_id:") else -1


def _n_probs_body(question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {
        "prompt": _prompt(question),
        "n_predict": 1,
        "n_probs": _TOP_TOKENS,
        "temperature": question.temperature,
        "samplers": ["temperature"],
        "logit_bias": question.bias,
        "post_sampling_probs": False,
        "cache_prompt": True,
    }
    if len(question.targets) == 1:
        body |= {"n_probs": 1, "temperature": 0.0, "logit_bias": [[question.targets[0], _CERTAIN]]}
    return body


def _read_n_probs(answer: Any, question: Question) -> Reply:
    drawn = answer["completion_probabilities"][0]
    values = {token["id"]: token["logprob"] for token in (*drawn["top_logprobs"], drawn)}
    return Reply(_values(values, question), drawn["id"], _count(answer["tokens_evaluated"]))


def _generate_body(question: Question) -> dict[str, Any]:
    prompt = {"input_ids": list(question.prefix)} if question.text is None else {"text": question.text}
    return {
        **prompt,
        "sampling_params": {
            "max_new_tokens": 1,
            "temperature": question.temperature,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "logit_bias": dict(question.bias) or None,
        },
        "return_logprob": True,
        "logprob_start_len": len(question.prefix) - 1 if question.text is None else -1,
        "token_ids_logprob": list(question.targets),
    }


def _read_generate(answer: Any, question: Question) -> Reply:
    metadata = answer["meta_info"]
    values = {token: value for value, token, *_ in metadata["output_token_ids_logprobs"][0]}
    drawn = metadata["output_token_logprobs"][0][1]
    return Reply(_values(values, question), drawn, _count(metadata["prompt_tokens"]))


def _echo_body(question: Question) -> dict[str, Any]:
    return {
        "prompt": [*question.prefix, *question.targets] if question.text is None else question.text,
        "max_tokens": 1,
        "temperature": question.temperature,
        "top_p": 1.0,
        "echo": True,
        "logprobs": 1,
        "logit_bias": dict(question.bias) or None,
    }


def _read_echo(answer: Any, question: Question) -> Reply:
    logprobs = answer["choices"][0]["logprobs"]
    count = _count(answer["usage"]["prompt_tokens"])
    if count != len(question.prefix) + len(question.targets):
        raise UntrustworthyError(
            f"The server counts {count} tokens where {len(question.prefix) + len(question.targets)} were sent: its"
            " tokenization differs, or it adds tokens at the beginning."
        )
    values = logprobs["token_logprobs"]
    # The generated token follows the prompt; a special token before the prompt can be missing.
    echoed = values[: len(values) - int(answer["usage"].get("completion_tokens", 1))]
    if len(echoed) not in (count, count - 1) or len(echoed) < len(question.targets):
        raise UntrustworthyError(f"The server repeats {len(echoed)} tokens of {count}: it does not echo the prompt.")
    return Reply(list(map(_number, echoed[-len(question.targets) :])), logprobs["tokens"][-1], count)


def _count(count: Any) -> int | None:
    return count if isinstance(count, int) and 0 <= count < 1 << 31 else None


_ECHO = "the prompt with the option after it, repeated with its log-probabilities"

# In ascending order of computation.
METHODS: Mapping[str, ServerMethod] = {
    method.name: method
    for method in (
        ServerMethod(
            "token_ids",
            "completions of one token with the log-probabilities of chosen ids (vLLM)",
            "/completions",
            _token_ids_body,
            _read_token_ids,
        ),
        ServerMethod(
            "n_probs",
            "completions of one token with the most probable tokens and the drawn one (llama.cpp)",
            "/completion",
            _n_probs_body,
            _read_n_probs,
            at_root=True,
            partial=True,
        ),
        ServerMethod(
            "token_ids_logprob",
            "one token generated with the log-probabilities of chosen ids (SGLang)",
            "/generate",
            _generate_body,
            _read_generate,
            at_root=True,
        ),
        ServerMethod("echo", f"{_ECHO}, sent as ids", "/completions", _echo_body, _read_echo, follow=True),
        ServerMethod(
            "echo_text", f"{_ECHO}, sent as text", "/completions", _echo_body, _read_echo, follow=True, as_text=True
        ),
    )
}


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

    method: ServerMethod
    difference: float
    findings: tuple[tuple[str, str], ...]


# Scores several questions in parallel; raises UntrustworthyError.
AskTogether = Callable[[ServerMethod, Sequence[Question]], list[OptionScores]]

# Returns True if a method can express a question.
Can = Callable[[ServerMethod, Question], bool]


def shake_hands(
    name: str,
    ask_together: AskTogether,
    can: Can,
    texts: Sequence[tuple[int, ...]],
    methods: Sequence[str] = tuple(METHODS),
) -> Handshake:
    """Return the first of these methods whose log-probabilities can be trusted.

    Cost: some forty requests per method; one if the server lacks it.

    Args:
        name: name of the model, for messages.
        ask_together: sends requests to the server, also repeated ones.
        can: returns True if a method can express a question; some options cannot be sent as text.
        texts: token ids of ``TEXT`` and ``OTHER_TEXT``, with the special tokens that the tokenizer adds.

    Raises:
        KgprobeError: No method can be trusted; the message lists the reasons.
    """
    findings: list[tuple[str, str]] = []
    for method in map(METHODS.__getitem__, methods):
        try:
            difference = examine(method, ask_together, can, texts)
        except UntrustworthyError as error:
            findings.append((method.name, str(error)))
            continue
        finding = f"agrees with itself to {difference:.1e} nats"
        return Handshake(method, difference, (*findings, (method.name, finding)))
    reasons = " ".join(f"{method_name}: {finding}" for method_name, finding in findings)
    raise KgprobeError(f"{name} cannot score: no log-probabilities of its server can be used. {reasons}")


def examine(
    method: ServerMethod,
    ask_together: AskTogether,
    can: Can,
    texts: Sequence[tuple[int, ...]],
    alone: str = "`concurrency` 1",
) -> float:
    """Return the largest difference in nats between answers that should be equal, by one method.

    Args:
        method: the method to test.
        ask_together, can, texts: as of :func:`shake_hands`.
        alone: the setting that sends requests one by one, for messages.

    Raises:
        UntrustworthyError: a test fails.
    """
    return _Examination(method, ask_together, can, alone).run(*texts)


class _Examination:
    """A test of one method, which keeps the largest difference between answers that should be equal."""

    def __init__(self, method: ServerMethod, ask_together: AskTogether, can: Can, alone: str) -> None:
        self._method = method
        self._ask_together = ask_together
        self._can = can
        self._alone = alone
        self._greatest = 0.0

    def run(self, prompt: tuple[int, ...], other: tuple[int, ...]) -> float:
        """Return the largest difference; raise UntrustworthyError if it is too large, or answers are wrongly equal."""
        known = [option for option in dict.fromkeys(prompt[::-1]) if self._can_ask(option, prompt, other)]
        options = tuple(known[:_OPTIONS])
        if len(options) < _MIN_OPTIONS:
            raise UntrustworthyError("It accepts only text, and the test cannot be sent as text.")
        plain = Question(prompt, options)
        first = self._ask(plain).values
        self._compare(self._ask(plain).values, first, "The same request gives other log-probabilities")
        turned = self._ask(Question(prompt, options[::-1])).values[::-1]
        self._compare(turned, first, "Log-probabilities depend on the order in which options are asked")
        alone = [self._ask(Question(prompt, (option,))).values[0] for option in options[:2]]
        self._compare(np.array(alone), first[:2], "Log-probabilities depend on which other options are asked")
        if np.ptp(first) < _SAME:
            raise UntrustworthyError("All options are equally probable.")
        if np.abs(self._ask(Question(other, options)).values - first).max() < _SAME:
            raise UntrustworthyError("Log-probabilities do not depend on the prompt.")
        # With echo, the last token of the text is the option.
        whole = Question(prompt[:-1], prompt[-1:]) if self._method.follow else plain
        self._check_tokens(whole, len(prompt))
        self._check_drawing(plain, first)
        self._check_drawn(whole, plain, first)
        self._check_parallel(prompt, options[:2])
        return self._greatest

    def _can_ask(self, option: int, *prompts: tuple[int, ...]) -> bool:
        return all(self._can(self._method, Question(prompt, (option,))) for prompt in prompts)

    def _ask(self, question: Question) -> OptionScores:
        return self._ask_together(self._method, [question])[0]

    def _compare(self, values: Floats, expected: Floats, problem: str, allowed: float = TOLERANCE) -> None:
        """Raise UntrustworthyError if values differ by more than allowed."""
        difference = float(np.abs(values - expected).max())
        if not difference <= allowed:
            raise UntrustworthyError(f"{problem} (by up to {difference:.2g} nats; {allowed:g} are allowed).")
        self._greatest = max(self._greatest, difference)

    def _check_tokens(self, whole: Question, count: int) -> None:
        """Check that the server tokenizes a text in the same way."""
        text, ids = self._ask(replace(whole, text=TEXT)), self._ask(whole)
        for scores in (text, ids):
            if scores.prompt_tokens not in (None, count):
                raise UntrustworthyError(
                    f"The tokenizer is not the server's: it gives {count} tokens for a text, the server"
                    f" {scores.prompt_tokens}. Name another `tokenizer`."
                )
        problem = "The tokenizer is not the server's: a text and its tokens have other log-probabilities"
        self._compare(text.values, ids.values, problem)

    def _check_parallel(self, prompt: tuple[int, ...], options: tuple[int, ...]) -> None:
        """Check that parallel requests give the same results as single ones."""
        questions: list[Question] = []
        for end in range(len(prompt), 1, -1):
            before = prompt[:end]
            if len(questions) < _PARALLEL and self._can_ask(options[0], before) and self._can_ask(options[1], before):
                questions.append(Question(before, options))
        single = list(map(self._ask, questions))
        problem = f"Parallel requests give other log-probabilities than single ones; try {self._alone}"
        for scores, expected in zip(self._ask_together(self._method, questions), single, strict=True):
            self._compare(scores.values, expected.values, problem, ROUNDING)

    def _check_drawing(self, plain: Question, values: Floats) -> None:
        """Check that temperature and bias have either no effect or exactly the expected one."""
        other = replace(plain, temperature=_TEMPERATURE, bias=((plain.targets[0], _BIAS),))
        sampled = self._ask(other).values
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

    def _check_drawn(self, whole: Question, plain: Question, values: Floats) -> None:
        """Check that the token generated at temperature 0 is the most probable one."""
        drawn = self._ask(replace(whole, temperature=0.0)).drawn
        if drawn is None or drawn < 0:
            raise UntrustworthyError("It does not report the generated token, so its distribution cannot be checked.")
        best = self._ask(Question(plain.prefix, tuple(dict.fromkeys((drawn, *plain.targets))))).values[0]
        if not best >= values.max() - TOLERANCE:
            raise UntrustworthyError(
                f"The token generated at temperature 0 has a log-probability of {best:.3g}, and another token"
                f" {values.max():.3g}: these are not the probabilities that it draws from."
            )
