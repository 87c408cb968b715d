"""Completions of OpenAI-compatible servers: the answer, its thought and its counts, or the fault.

Servers and routers put errors into bodies of HTTP 200 and into single choices, and some bodies are no strict JSON (a
byte order mark, NaN, half of a surrogate pair). A body without an answer is a fault with the server's words: what is no
answer is never wrong.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.models.api.connection import Fault, shortened
from kgprobe.models.generating.thinking import Split, split_thought

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
