"""How servers tell the log-probability of a chosen token: the request of each, and how its answer is read.

- ``token_ids``: vLLM's completions with ``logprob_token_ids`` (its pull request 43463).
- ``n_probs``: llama.cpp's ``/completion``. It names the most probable tokens only, but also the token that was drawn,
  with its probability before anything was done to it: so one that is not among them is made the drawn one by a bias.
- ``token_ids_logprob``: SGLang's ``/generate``, from one token before the options, so that its prefix cache counts.
- ``echo``: completions that repeat the prompt with the log-probabilities of its tokens, sent as ids or as text.

Neither ``echo`` nor ``prompt_logprobs`` is asked for where there is another way: today's servers switch their prefix
caches off for them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.models.api.address import Address
from kgprobe.models.api.faults import Fault
from kgprobe.models.generating.generator import Answer

# What llama.cpp is asked to name at once, about 100 bytes each.
_NAMED = 1000
# More than any logit.
_CERTAIN = 1000.0
# Rounding may lift a log-probability by so much above 0; what is below the least one has been filtered out: servers say
# so in numbers of their own, such as -9999 or the least that a float can be.
_ROUNDING = 1e-3
_LEAST = -1000.0


class UntrustworthyError(KgprobeError):
    """A server's log-probabilities are none, or not those that were asked for."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a server: tokens that may follow others.

    Attributes:
        prefix: ids of the tokens before; at least one.
        targets: ids, each instead of the others, or (``echo``) one behind the other.
        text: sent in place of the ids of all that is sent; None sends ids.
        temperature, bias: of the drawing, which should have no say in the answer; ids with what is added to logits.
    """

    prefix: tuple[int, ...]
    targets: tuple[int, ...]
    text: str | None = None
    temperature: float = 1.0
    bias: tuple[tuple[int, float], ...] = ()


class Reply(msgspec.Struct, frozen=True):
    """What a server said to a question.

    Attributes:
        values: a log-probability a target, natural logarithm; None for one that the server did not name.
        drawn: the token that it went on with: its id, or its text where the server has no ids; None if not told.
        prompt_tokens: how many the server counts; None where it does not.
    """

    values: list[float | None]
    drawn: int | str | None = None
    prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways above.

    Attributes:
        at_root: whether the path is beside ``/v1``, not below it.
        follow: whether targets follow one another.
        named: whether only some tokens are named where there are several targets.
        as_text: whether the prompt is sent as text.
    """

    name: str
    meaning: str
    path: str
    body: Callable[[Question], dict[str, Any]]
    read: Callable[[Any, Question], Reply]
    at_root: bool = False
    follow: bool = False
    named: bool = False
    as_text: bool = False


class NextTokensForm:
    """The form of such questions to one server, see :class:`.session.Form`; an answer's text is a reply as JSON."""

    dispensable = True
    may_be_empty = False
    needs = ""

    def __init__(self, address: Address, way: Way) -> None:
        """For a model behind this address."""
        self._name = address.name
        self._model = address.model
        self._way = way
        self._path = f"{root_of(address)}{way.path}" if way.at_root else way.path

    def path(self) -> str:
        """The same for all requests."""
        return self._path

    def body(self, question: Question) -> dict[str, Any]:
        """As the way has it, with the model's name."""
        return {"model": self._model, **self._way.body(question)}

    def size(self, question: Question) -> tuple[int, int]:
        """Prompt tokens, and the one that a server has to go on with."""
        return len(question.prefix) + (len(question.targets) if self._way.follow else 0), 1

    def adapt(self, parameter: str) -> bool:  # noqa: ARG002
        """Nothing that is sent can be left out."""
        return False

    def read(self, content: bytes, question: Question) -> Answer | Fault:
        """A reply with a number for each target, or what is wrong with it.

        Raises:
            UntrustworthyError: there are fewer numbers than were asked for, or they are no log-probabilities.
        """
        try:
            decoded = msgspec.json.decode(_without_nan(content))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return Fault(f"the server's answer is no JSON: {error}")
        try:
            reply = self._way.read(decoded, question)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise UntrustworthyError(
                f"{self._name} gives no log-probabilities by way of {self._way.name}: its answer lacks"
                f" {type(error).__name__}({error})."
            ) from error
        self._check(reply, question)
        tokens = reply.prompt_tokens if reply.prompt_tokens is not None else self.size(question)[0]
        return Answer(msgspec.json.encode(reply).decode(), prompt_tokens=tokens, completion_tokens=1)

    def _check(self, reply: Reply, question: Question) -> None:
        told = [value for value in reply.values if value is not None]
        if len(told) < len(question.targets) and not self._may_lack(question):
            raise UntrustworthyError(
                f"{self._name} gives fewer log-probabilities than asked: {len(told)} of {len(question.targets)}"
                f" (way {self._way.name})."
            )
        for value in told:
            if not math.isfinite(value) or not _LEAST < value <= _ROUNDING:
                raise UntrustworthyError(
                    f"{self._name} gives {value!r} as a log-probability (way {self._way.name}); a number in"
                    f" ({_LEAST:g}, 0] is expected. Does the server filter tokens (top-k, top-p) before it tells?"
                )
        # Alternatives share 1 between them.
        if not self._way.follow and sum(map(math.exp, told)) > 1 + 10 * _ROUNDING:
            raise UntrustworthyError(
                f"{self._name} gives probabilities that sum to {sum(map(math.exp, told)):.3f} for"
                f" {len(told)} tokens of which one may follow (way {self._way.name}); at most 1 is expected."
            )

    def _may_lack(self, question: Question) -> bool:
        return self._way.named and len(question.targets) > 1


def root_of(address: Address) -> str:
    """The server's address without ``/v1``."""
    return address.url.removesuffix("/v1")


def _without_nan(content: bytes) -> bytes:
    """Python's servers write NaN and infinities, which JSON has not; a string says the same here."""
    if b"NaN" not in content and b"Infinity" not in content:
        return content
    import json

    return json.dumps(json.loads(content, parse_constant=str)).encode()


def _number(value: Any) -> float:
    """A number as it came, also one that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    return float(value)


def _values(told: Mapping[int, Any], question: Question) -> list[float | None]:
    return [_number(told[token]) if token in told else None for token in question.targets]


def _prompt(question: Question) -> str | list[int]:
    return list(question.prefix) if question.text is None else question.text


def _of_token_ids(question: Question) -> dict[str, Any]:
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
        "logit_bias": {str(token): bias for token, bias in question.bias},
    }


def _read_token_ids(answer: Any, question: Question) -> Reply:
    told = answer["choices"][0]["logprobs"]
    named = {_id(token): value for token, value in told["top_logprobs"][0].items()}
    drawn = _id(told["tokens"][0])
    return Reply(_values(named, question), drawn, _count(answer["usage"]["prompt_tokens"]))


def _id(token: str) -> int:
    """``token_id:17`` is 17."""
    return int(token.removeprefix("token_id:")) if token.startswith("token_id:") else -1


def _of_n_probs(question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {
        "prompt": _prompt(question),
        "n_predict": 1,
        "n_probs": _NAMED,
        "temperature": question.temperature,
        "samplers": ["temperature"],
        "logit_bias": [[token, bias] for token, bias in question.bias],
        "post_sampling_probs": False,
        "cache_prompt": True,
    }
    if len(question.targets) == 1:
        body |= {"n_probs": 1, "temperature": 0.0, "logit_bias": [[question.targets[0], _CERTAIN]]}
    return body


def _read_n_probs(answer: Any, question: Question) -> Reply:
    told = answer["completion_probabilities"][0]
    named = {one["id"]: one["logprob"] for one in told["top_logprobs"]} | {told["id"]: told["logprob"]}
    return Reply(_values(named, question), told["id"], _count(answer["tokens_evaluated"]))


def _of_generate(question: Question) -> dict[str, Any]:
    prompt = {"input_ids": list(question.prefix)} if question.text is None else {"text": question.text}
    return {
        **prompt,
        "sampling_params": {
            "max_new_tokens": 1,
            "temperature": question.temperature,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "logit_bias": {str(token): bias for token, bias in question.bias} or None,
        },
        "return_logprob": True,
        "logprob_start_len": len(question.prefix) - 1 if question.text is None else -1,
        "token_ids_logprob": list(question.targets),
    }


def _read_generate(answer: Any, question: Question) -> Reply:
    about = answer["meta_info"]
    named = {token: value for value, token, *_ in about["output_token_ids_logprobs"][0]}
    return Reply(_values(named, question), about["output_token_logprobs"][0][1], _count(about["prompt_tokens"]))


def _of_echo(question: Question) -> dict[str, Any]:
    return {
        "prompt": [*question.prefix, *question.targets] if question.text is None else question.text,
        "max_tokens": 1,
        "temperature": question.temperature,
        "top_p": 1.0,
        "echo": True,
        "logprobs": 1,
        "logit_bias": {str(token): bias for token, bias in question.bias} or None,
    }


def _read_echo(answer: Any, question: Question) -> Reply:
    told = answer["choices"][0]["logprobs"]
    count = _count(answer["usage"]["prompt_tokens"])
    if count != len(question.prefix) + len(question.targets):
        raise UntrustworthyError(
            f"The server counts {count} tokens where {len(question.prefix) + len(question.targets)} were sent: its"
            " tokenization is another, or it puts tokens in front."
        )
    values = told["token_logprobs"]
    # Behind the prompt stands what was drawn; in front of it, a special token may be left out.
    own = values[: len(values) - int(answer["usage"].get("completion_tokens", 1))]
    if len(own) not in (count, count - 1) or len(own) < len(question.targets):
        raise UntrustworthyError(f"The server repeats {len(own)} tokens of {count}: it does not echo the prompt.")
    return Reply([_number(one) for one in own[-len(question.targets) :]], told["tokens"][-1], count)


def _count(told: Any) -> int | None:
    return told if isinstance(told, int) and 0 <= told < 1 << 31 else None


_ECHO = "the prompt with the option behind it, repeated with its log-probabilities"

# Those that compute least first.
WAYS: Mapping[str, Way] = {
    way.name: way
    for way in (
        Way(
            "token_ids",
            "completions of one token with the log-probabilities of chosen ids (vLLM)",
            "/completions",
            _of_token_ids,
            _read_token_ids,
        ),
        Way(
            "n_probs",
            "completions of one token with the most probable ones and that which was drawn (llama.cpp)",
            "/completion",
            _of_n_probs,
            _read_n_probs,
            at_root=True,
            named=True,
        ),
        Way(
            "token_ids_logprob",
            "one token generated with the log-probabilities of chosen ids (SGLang)",
            "/generate",
            _of_generate,
            _read_generate,
            at_root=True,
        ),
        Way("echo", f"{_ECHO}, sent as ids", "/completions", _of_echo, _read_echo, follow=True),
        Way("echo_text", f"{_ECHO}, sent as text", "/completions", _of_echo, _read_echo, follow=True, as_text=True),
    )
}
