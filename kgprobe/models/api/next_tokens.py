"""Methods to obtain the log-probability of a chosen token from a server: requests and answers.

- ``token_ids``: vLLM's completions with ``logprob_token_ids`` (its pull request 43463).
- ``n_probs``: llama.cpp's ``/completion``. It returns the most probable tokens and the drawn token, with unbiased
  probabilities. A bias makes any other token the drawn one.
- ``token_ids_logprob``: SGLang's ``/generate``, starting one token before the options, to use its prefix cache.
- ``echo``: completions that repeat the prompt with the log-probabilities of its tokens, sent as ids or as text.

``echo`` is the last choice, and ``prompt_logprobs`` is not used: current servers disable their prefix caches for them.

The log-probabilities are tested before scoring, see :mod:`.handshake`; every later answer is tested for what it shows
alone: missing and impossible values, sums over 1, another number of tokens, another model or version of the server.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.models.api.address import Address
from kgprobe.models.api.connection import Fault, Form
from kgprobe.models.generating.generator import Answer

# Tokens returned by llama.cpp per request, about 100 bytes each.
_TOP_TOKENS = 1000
# Larger than any logit.
_CERTAIN = 1000.0
# Rounding can lift a log-probability above 0, and a sum of probabilities above 1, by so much.
_ROUNDING, MAX_TOTAL = 1e-3, 1.01
# Lower numbers mark filtered tokens: servers use -9999 or the smallest float.
_LEAST = -1000.0
# A server with more of them has a new one for every answer, and they say nothing.
_MOST_VERSIONS = 4

# The tokens before a target, and the target.
Edge: TypeAlias = "tuple[tuple[int, ...], int]"


class UntrustworthyError(KgprobeError):
    """Raised for log-probabilities of a server that are invalid or incomplete."""


class NewVersionError(UntrustworthyError):
    """Raised for an answer of another model or version than those that were tested."""

    def __init__(self, message: str, version: str) -> None:
        super().__init__(message)
        self.version = version


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
        version: the server's names of its model and of its version; empty if it gives none.
    """

    values: list[float | None]
    drawn: int | str | None = None
    prompt_tokens: int | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class ServerMethod:
    """A method to obtain log-probabilities.

    Attributes:
        at_root: True if the path is not below ``/v1``.
        follow: True if targets follow each other.
        partial: True if the values of some of several targets can be missing.
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

    def edges(self, question: Question) -> list[Edge]:
        """Return the tokens before each target of a question, with the target."""
        if not self.follow:
            return [(question.prefix, target) for target in question.targets]
        tokens, first = question.prefix + question.targets, len(question.prefix)
        return [(tokens[:place], tokens[place]) for place in range(first, len(tokens))]


class NextTokensForm(Form[Question]):
    """Form of questions to one server, see :class:`.requests.Form`; the text of an answer is a reply as JSON."""

    dispensable = True

    def __init__(self, address: Address, method: ServerMethod, versions: Collection[str] | None = None) -> None:
        """Create the form of a method that accepts the tested versions of the server, or any with None."""
        self._name = address.name
        self._versions = None if versions is None or len(versions) > _MOST_VERSIONS else versions
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
            NewVersionError: The answer is of a version that was not tested.
            UntrustworthyError: Values are missing, or are not log-probabilities.
        """
        try:
            decoded = msgspec.json.decode(_without_nan(content))
        except UNREADABLE_JSON as error:
            return Fault(f"the server's answer is not JSON: {error}")
        try:
            reply = self._method.read(decoded, question)
            weights = decoded.get("meta_info", {}).get("weight_version")
            names = filter(None, (decoded.get("model"), decoded.get("system_fingerprint"), weights))
            reply = msgspec.structs.replace(reply, version=" ".join(map(str, names)))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise UntrustworthyError(
                f"{self._name} gives no log-probabilities by the method {self._method.name}: its answer lacks"
                f" {type(error).__name__}({error})."
            ) from error
        if self._versions is not None and reply.version not in self._versions:
            raise NewVersionError(f"{self._name} was tested as another version than {reply.version!r}.", reply.version)
        self._check(reply, question)
        tokens = reply.prompt_tokens if reply.prompt_tokens is not None else self.size(question)[0]
        return Answer(msgspec.json.encode(reply).decode(), prompt_tokens=tokens, completion_tokens=1)

    def _check(self, reply: Reply, question: Question) -> None:
        if reply.prompt_tokens not in (None, self.size(question)[0]):
            raise UntrustworthyError(
                f"The tokenizer is not the server's: it gives {self.size(question)[0]} tokens for a text, the server"
                f" {reply.prompt_tokens}. Name another `tokenizer`."
            )
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
        if not self._method.follow and total > MAX_TOTAL:
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
    count = int(answer["usage"]["prompt_tokens"])
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
