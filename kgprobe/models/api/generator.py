"""Generator for models behind OpenAI-compatible APIs: chat completions for questions, completions for continuations.

Not every API offers completions.

A thought before an answer is never read as one: that of a field (``reasoning_content``, ``reasoning``) or of a part of
the content is left out, and one in the text is removed (:mod:`kgprobe.models.generating.thinking`). With thinking
switched on, a text without markers that fills all tokens is a thought, too.

Servers and routers put errors into bodies of HTTP 200 and into single choices, and some bodies are no strict JSON (a
byte order mark, NaN, half of a surrogate pair). A body without an answer is a fault with the server's words: what is no
answer is never wrong.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.models.api.address import OPENAI, Address
from kgprobe.models.api.connection import Fault, Form, shortened
from kgprobe.models.api.requests import Asker
from kgprobe.models.api.thinking import VerifiedSwitch, verify
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.thinking import STORED_CHARACTERS, Split, Thinking, split_thought
from kgprobe.models.scoring.tokens import not_unicode

# Larger counts are errors.
MOST_TOKENS = 2_000_000

# Types of the parts of a content that are text.
_TEXT_TYPES = ("text", "output_text")
_RATE_LIMIT = 429
# Beginnings of bodies that are not JSON, and their meanings.
_STREAM = re.compile(rb"\s*(?:data|event|id|retry|):")
_PAGE = re.compile(rb"\s*<(?:!doctype|html)", re.IGNORECASE)
_SHOWN_BYTES = 30


class TokenCounts(msgspec.Struct):
    """Token counts of a request and of its answer."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    # Servers differ in its content.
    completion_tokens_details: Any = None

    @property
    def thought(self) -> int:
        """Tokens of the thought; 0 if they are not counted."""
        details = self.completion_tokens_details
        counted = details.get("reasoning_tokens") if isinstance(details, dict) else None
        return counted if isinstance(counted, int) and 0 <= counted <= MOST_TOKENS else 0


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer of a model.

    Attributes:
        whole: the text whose tokens the server counts.
        counts: the token counts; empty if they are missing or unreadable.
    """

    split: Split
    refusal: str
    finish_reason: str | None
    whole: str
    counts: TokenCounts


class _Part(msgspec.Struct):
    """A part of a message: text, or a thought, which has another type."""

    type: str = ""
    text: str | None = None
    thinking: Any = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Any = None
    function_call: Any = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    text: str | None = None
    finish_reason: str | None = None
    error: Any = None


class _Body(msgspec.Struct):
    """Parts of a completion; the client itself does not validate answers."""

    choices: list[_Choice] | None = None
    error: Any = None
    usage: Any = None


def read_completion(content: bytes, *, is_chat: bool) -> Completion | Fault:
    """Return the first choice of a completion, or a fault if there is no answer in it.

    >>> body = b'{"choices": [{"finish_reason": "error", "error": {"message": "Upstream timeout"}}]}'
    >>> read_completion(body, is_chat=True).reason
    'the server reports an error in its answer: Upstream timeout'
    """
    name = "chat completion" if is_chat else "completion"
    body = _decoded(content, name)
    if isinstance(body, Fault):
        return body
    if body.error:
        return _fault_of(body.error)
    if not body.choices:
        return Fault(f"the server's answer is not a {name}: it has no choices")
    choice, counts = body.choices[0], _counts_of(body.usage)
    if choice.error or choice.finish_reason == "error":
        return _fault_of(choice.error or "no message")
    if not is_chat:
        if choice.text is None:
            return Fault(f"the server's answer is not a {name}: its choice has no text")
        return Completion(Split("", choice.text.strip()), "", choice.finish_reason, choice.text, counts)
    if choice.message is None:
        return Fault(f"the server's answer is not a {name}: its choice has no message")
    return _chat_completion(choice.message, choice.finish_reason, counts)


def _decoded(content: bytes, name: str) -> _Body | Fault:
    """Return the body of an answer, also if it is JSON by Python's rules alone."""
    try:
        return msgspec.json.decode(content, type=_Body)
    except UNREADABLE_JSON as error:
        strict = error
    try:
        loose = json.loads(content.decode("utf-8-sig"), parse_constant=lambda _: None)
        return msgspec.json.decode(json.dumps(loose, ensure_ascii=False).encode(errors="ignore"), type=_Body)
    except msgspec.ValidationError as error:
        return Fault(f"the server's answer is not a {name}: {error}")
    except (ValueError, RecursionError):
        return Fault(f"the server's answer is not a {name}: {_beginning(content) or strict}")


def _beginning(content: bytes) -> str:
    """Return what a body that is not JSON is by its beginning; empty for another one."""
    begins = f"it begins with {content[:_SHOWN_BYTES].decode(errors='replace')!r}"
    if _STREAM.match(content):
        return f"the server streams ({begins})"
    if _PAGE.match(content):
        return f"the address is that of a web page ({begins})"
    return ""


def _fault_of(error: Any) -> Fault:
    """Return the fault of an error that a server puts into an answer."""
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {}
    message = error if isinstance(error, str) else fields.get("message") or json.dumps(error, ensure_ascii=False)
    is_limit = str(fields.get("code")) == str(_RATE_LIMIT)
    return Fault(f"the server reports an error in its answer: {shortened(str(message))}", limited=is_limit)


def _chat_completion(message: _Message, finish_reason: str | None, counts: TokenCounts) -> Completion | Fault:
    parts = message.content if isinstance(message.content, list) else ()
    text = message.content if isinstance(message.content, str) else ""
    text += "".join(part.text or "" for part in parts if part.type in _TEXT_TYPES)
    split = split_thought(text)
    split = Split(split.thought or _thought(message, parts), split.answer, split.ended)
    if not split.answer and not message.refusal:
        if message.tool_calls or message.function_call or finish_reason in ("tool_calls", "function_call"):
            return Fault("the model calls a tool and gives no answer")
        unknown = [part.type for part in parts if part.type not in _TEXT_TYPES and not part.thinking]
        if unknown:
            return Fault(f"the answer has no text but a part of the unknown type {unknown[0][:_SHOWN_BYTES]!r}")
    return Completion(split, message.refusal or "", finish_reason, split.thought + split.answer, counts)


def _thought(message: _Message, parts: Sequence[_Part]) -> str:
    """Return the thought of a field or of a part of the content."""
    for field in (message.reasoning_content, message.reasoning):
        if field and isinstance(field, str):
            return field
    return next((msgspec.json.encode(part.thinking).decode() for part in parts if part.thinking), "")


def _counts_of(usage: Any) -> TokenCounts:
    """Return the token counts of a response; empty if they are missing or unreadable."""
    try:
        return msgspec.convert(usage or {}, TokenCounts)
    except msgspec.ValidationError:
        return TokenCounts()


_LIMITS = ("max_tokens", "max_completion_tokens")
# Close to greedy, for servers that want a positive temperature.
_SMALL_TEMPERATURE = 0.01
_POSITIVE = re.compile(r"positive|(?:greater|larger|more|bigger) than|> ?0", re.IGNORECASE)

# Maximum tokens in addition to one per byte of the prompt: those of the chat template, or one special token in front.
_CHAT_TOKENS, _TEXT_TOKENS = 64, 1
_NEEDS = (
    "Continuations use completions (/completions), which this server has to offer for the model; chat alone is not"
    " enough."
)


class ApiGenerator:
    """Generator for a model behind an API."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.name = asker.address.name
        self.spending = asker.spending
        self.parameters = Parameters(asker.address)
        self._verified: dict[Thinking, VerifiedSwitch] = {}

    def describe(self) -> dict[str, object]:
        """Return model, address and form of the prompts."""
        return {
            "name": self.name,
            "model": self._asker.address.model,
            "url": self._asker.address.url,
            "prompt": "one message of a user",
        }

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """Return an answer or the reason for its lack for each request, in order; equal requests are sent once.

        Raises:
            BudgetSpentError: The budget does not cover the next request; pending requests have been completed.
        """
        copies = Counter(map(Request.normalized, requests))

        def report(request: Request) -> None:
            if progress is not None:
                progress(copies[request])

        distinct = list(copies)
        answers: dict[Request, Answer | Unanswered] = {}
        odd = not_unicode([request.prompt for request in distinct])
        for place in odd:
            answers[distinct[place]] = Unanswered("its prompt is not Unicode: it contains half of a surrogate pair")
            report(distinct[place])
        forms: dict[tuple[bool, Thinking | None], list[Request]] = {}
        for request in distinct:
            if request not in answers:
                forms.setdefault((request.continuation, request.thinking), []).append(request)
        for (continuation, thinking), valid in forms.items():
            verified = self._verify(thinking) if thinking is not None and not continuation else None
            answers |= self._ask(valid, verified, report)
        return [answers[request.normalized()] for request in requests]

    def check_thinking(self, thinking: Thinking) -> dict[str, object]:
        """Return the parameters for a mode of thinking, see :meth:`.Generator.check_thinking`.

        Cost: a trial question for each kind of parameters, unless its answer is cached.
        """
        return self._verify(thinking).describe()

    def _verify(self, thinking: Thinking) -> VerifiedSwitch:
        if thinking not in self._verified:

            def ask(request: Request, verified: VerifiedSwitch) -> Answer | Unanswered:
                # Each mode that is tried needs its answer at once.
                return self._ask([request], verified, in_batches=False)[request]

            self._verified[thinking] = verify(self.name, self._asker.address.url, thinking, ask)
        return self._verified[thinking]

    def _ask(
        self,
        requests: Sequence[Request],
        verified: VerifiedSwitch | None,
        report: Callable[[Request], None] = lambda _: None,
        *,
        in_batches: bool = True,
    ) -> dict[Request, Answer | Unanswered]:
        """Ask requests of one form with the parameters of their mode of thinking, ``in_batches`` if that is chosen."""
        if not requests:
            return {}
        form = _CompletionForm(
            self._asker.address,
            self.parameters,
            continuation=requests[0].continuation,
            thinking={} if verified is None else verified.parameters,
            in_batches=in_batches,
        )
        return self._asker.ask(form, requests, form.cache_key, report)


# Reasons for the end of an answer that the model chose.
_ENDS = ("stop", "content_filter")


def _cache_key(request: Request) -> dict[str, object]:
    """Return everything that an answer depends on, except the model and the parameters of thinking."""
    whole: dict[str, object] = {"prompt": request.prompt, "max_tokens": request.max_tokens}
    whole["temperature"] = request.temperature
    if request.continuation:
        whole["form"] = "continuation"
    if request.temperature > 0:
        whole["seed"] = request.seed
    return whole


class Parameters:
    """Request parameters that one model accepts, under the names that it knows; adapted when it declines one.

    Some servers want a positive temperature: 0 is replaced by a small one.
    """

    def __init__(self, address: Address) -> None:
        self.left_out: frozenset[str] = frozenset()
        # OpenAI's newer models know only the second name, many other servers only the first.
        self._limit = _LIMITS[address.url == OPENAI]
        self._least_temperature = 0.0

    def of(self, request: Request) -> dict[str, Any]:
        """Return the parameters of a request."""
        # Completions use the first name everywhere.
        limit = _LIMITS[0] if request.continuation else self._limit
        parameters: dict[str, Any] = {
            "temperature": max(request.temperature, self._least_temperature),
            limit: _most_tokens(request),
        }
        if request.temperature > 0:
            parameters["seed"] = request.seed
        for name in self.left_out:
            parameters.pop(name, None)
        return parameters

    def adapt(self, parameter: str, reason: str) -> bool:
        """Drop a declined parameter, or switch to its other name; return False if neither is possible."""
        if parameter in _LIMITS:
            other = _LIMITS[parameter == _LIMITS[0]]
            if other in self.left_out:
                return False
            self._limit = other
        if parameter == "temperature" and self._least_temperature == 0 and _POSITIVE.search(reason):
            self._least_temperature = _SMALL_TEMPERATURE
            return True
        self.left_out |= {parameter}
        return True


def _most_tokens(request: Request) -> int:
    """Return the maximum tokens of thought and answer."""
    return request.max_tokens + (request.thinking.limit if request.thinking is not None else 0)


class _CompletionForm(Form[Request]):
    """Chat completions of one user message; with ``continuation``, completions of a text, which may be empty."""

    def __init__(
        self,
        address: Address,
        parameters: Parameters,
        *,
        continuation: bool,
        thinking: Mapping[str, Any],
        in_batches: bool,
    ) -> None:
        self.in_batches = in_batches
        self._address = address
        self._parameters = parameters
        self._thinking = thinking
        self.continuation = self.may_be_empty = continuation
        self.path = "/completions" if continuation else "/chat/completions"
        self.needs = _NEEDS if continuation else ""

    def body(self, request: Request) -> dict[str, Any]:
        prompt: dict[str, Any] = {"messages": [{"role": "user", "content": request.prompt}]}
        if self.continuation:
            prompt = {"prompt": request.prompt}
        return {"model": self._address.model, **prompt, **self._parameters.of(request), **self._thinking}

    def cache_key(self, request: Request) -> dict[str, object]:
        """Return everything that an answer depends on, except the model."""
        thinking: dict[str, object] = {}
        if request.thinking is not None and not self.continuation:
            thinking = {"thinking": {"mode": str(request.thinking), **self._thinking}}
        return _cache_key(request) | thinking

    def size(self, request: Request) -> tuple[int, int]:
        prompt = len(request.prompt.encode()) + (_TEXT_TOKENS if self.continuation else _CHAT_TOKENS)
        return prompt, _most_tokens(request)

    def adapt(self, parameter: str, reason: str) -> bool:
        # A mode of thinking is a condition: it is not dropped.
        return parameter not in self._thinking and self._parameters.adapt(parameter, reason)

    def read(self, content: bytes, request: Request) -> Answer | Fault:
        """Return the model's answer without its thoughts, and without the key."""
        completion = read_completion(content, is_chat=not self.continuation)
        if isinstance(completion, Fault):
            return completion
        split, refusal = completion.split, completion.refusal
        ended = completion.finish_reason != "length"
        completion_tokens = _checked(completion.counts.completion_tokens, completion.whole)
        thought_tokens = completion.counts.thought or _estimate(completion_tokens, split)
        is_marked = thought_tokens > 0 or bool(refusal)
        if not is_marked and _is_cut_thought(request, completion.finish_reason, completion_tokens):
            split = Split(split.answer, "", ended=False)
        # Some servers count the tokens of thoughts apart.
        return Answer(
            text=self._address.without_key(split.answer or refusal.strip()),
            refused=bool(refusal) or completion.finish_reason == "content_filter",
            ended=ended,
            prompt_tokens=_checked(completion.counts.prompt_tokens, request.prompt),
            completion_tokens=completion_tokens + (thought_tokens if thought_tokens > completion_tokens else 0),
            thought=self._address.without_key(split.thought)[:STORED_CHARACTERS],
            thought_tokens=thought_tokens,
            thought_cut=not split.ended or (not ended and not split.answer and thought_tokens > 0),
        )


def _is_cut_thought(request: Request, finish_reason: str | None, tokens: int) -> bool:
    """Return True if a text without markers can be the beginning of a thought: it was cut by its length."""
    if request.thinking is None or not request.thinking.is_on:
        return False
    # Some servers have other reasons for the end than those of OpenAI, or give none.
    return finish_reason == "length" or (finish_reason not in _ENDS and tokens >= _most_tokens(request))


def _estimate(tokens: int, split: Split) -> int:
    """Return the tokens of a thought: its share of the characters; 0 without a thought."""
    if not split.thought:
        return 0
    return max(1, round(tokens * len(split.thought) / len(split.thought + split.answer)))


def _checked(counted: int | None, text: str) -> int:
    """Return a token count; if it is missing or impossible, the maximum for the text, one token per byte."""
    if counted is None or not bool(text) <= counted <= MOST_TOKENS:
        return len(text.encode())
    return counted
