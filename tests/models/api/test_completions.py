"""Bodies of HTTP 200: an answer, or the fault in the server's words."""

import json
from typing import Any

import pytest

from kgprobe.models.api.connection import Fault
from kgprobe.models.api.generator import Completion, read_completion


def chat(content: Any, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """Return a chat completion with one choice."""
    return {"choices": [{"finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}]}


def in_choice(error: Any, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": "error", "message": {"content": ""}, "error": error, **choice}]}


TOOL = [{"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "Rate limit exceeded", "code": 429}}, "Rate limit exceeded"),
        ({"choices": None, "error": {"message": "Provider returned error", "code": 502}}, "Provider returned error"),
        ({"choices": [], "error": "out of memory"}, "out of memory"),
        ({"error": {"code": "overloaded"}}, "overloaded"),
        ({"error": ["a", "b"]}, '["a", "b"]'),
        (in_choice({"message": "Upstream timeout", "code": 504}), "Upstream timeout"),
        (in_choice(None), "no message"),
        (in_choice({"message": "Upstream timeout"}, finish_reason="stop"), "Upstream timeout"),
        (chat(None, "tool_calls", tool_calls=TOOL), "calls a tool"),
        (chat("", "stop", tool_calls=TOOL), "calls a tool"),
        (chat(None, "function_call", function_call={"name": "search"}), "calls a tool"),
        (chat([{"type": "image", "url": "x"}]), "unknown type 'image'"),
        ({"choices": []}, "it has no choices"),
        ({"id": "x"}, "it has no choices"),
        ({"choices": [{"text": "Yes"}]}, "no message"),
        (["Yes"], "Expected `object`, got `array`"),
    ],
)
def test_body_without_answer_is_a_fault_in_its_words(body: Any, words: str) -> None:
    fault = read_completion(json.dumps(body).encode(), is_chat=True)
    assert isinstance(fault, Fault)
    assert words in fault.reason
    assert fault.limited == ("429" in json.dumps(body))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (chat("Yes"), "Yes"),
        (chat([{"type": "output_text", "text": "Yes"}]), "Yes"),
        (chat([{"type": "text", "text": "Ye"}, {"type": "text", "text": "s"}]), "Yes"),
        (chat([{"type": "thinking", "thinking": "Paris is"}, {"type": "text", "text": "Yes"}]), "Yes"),
        (chat("Yes", tool_calls=TOOL), "Yes"),
        (chat("Yes", error=None), "Yes"),
        (chat(""), ""),
        (chat(None, reasoning_content="Paris is. So yes."), ""),
    ],
)
def test_body_with_answer_is_read(body: Any, text: str) -> None:
    assert answer_in(json.dumps(body).encode()) == text


def answer_in(content: bytes) -> str:
    completion = read_completion(content, is_chat=True)
    assert isinstance(completion, Completion)
    return completion.split.answer


def in_bytes(before: bytes = b"", old: str = "", new: str = "") -> bytes:
    return before + json.dumps(chat("Paris")).replace(old, new).encode()


@pytest.mark.parametrize(
    "content",
    [
        in_bytes(b"\xef\xbb\xbf"),
        in_bytes(old='"finish_reason"', new='"logprobs": NaN, "finish_reason"'),
        in_bytes(old='"finish_reason"', new='"logprobs": -Infinity, "finish_reason"'),
        in_bytes(old='"Paris"', new='"Paris \\ud83d"'),
        in_bytes(old='"Paris"', new='"\\udc8d Paris"'),
        in_bytes(b"\n \t"),
    ],
)
def test_body_of_loose_json_is_read(content: bytes) -> None:
    assert answer_in(content) == "Paris"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b'data: {"choices":[{"delta":{"content":"Yes"}}]}\n\ndata: [DONE]\n\n',
            "the server streams (it begins with 'data: {",
        ),
        (b": ping\n\ndata: {}\n\n", "the server streams"),
        (
            b"<!DOCTYPE html><html><title>Sign in</title></html>",
            "is that of a web page (it begins with '<!DOCTYPE html",
        ),
        (b"  <HTML><body>", "web page"),
        (b"\xff\xfe", "not a chat completion"),
        (b"", "not a chat completion"),
        (b"[" * 100_000, "not a chat completion"),
        (b'{"choices": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "not a chat completion"),
    ],
)
def test_body_that_is_no_json_is_named(content: bytes, words: str) -> None:
    fault = read_completion(content, is_chat=True)
    assert isinstance(fault, Fault)
    assert words in fault.reason


def test_completion_of_a_text_without_text_is_a_fault() -> None:
    fault = read_completion(json.dumps(chat("Yes")).encode(), is_chat=False)
    assert isinstance(fault, Fault)
    completion = read_completion(b'{"choices": [{"text": " Yes", "finish_reason": "length"}]}', is_chat=False)
    assert isinstance(completion, Completion)
    assert (completion.split.answer, completion.finish_reason, completion.whole) == ("Yes", "length", " Yes")
