"""Servers that think as the servers of real models do, each with its own parameters and its own form of thoughts."""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.models.api.fault_proxy import FaultProxy

# The thought names the wrong answer.
THOUGHT = "No, or is it so after all"
WORDS = len(THOUGHT.split())
Modes = Callable[[dict[str, Any]], tuple[bool, int]]


def of_template(body: dict[str, Any]) -> tuple[bool, int]:
    """vLLM and llama.cpp: on by default."""
    return body.get("chat_template_kwargs", {}).get("enable_thinking", True), body.get("thinking_token_budget", WORDS)


def of_effort(body: dict[str, Any]) -> tuple[bool, int]:
    """OpenAI: off where the effort is none."""
    return body.get("reasoning_effort", "none") != "none", WORDS


def of_reasoning(body: dict[str, Any]) -> tuple[bool, int]:
    """OpenRouter: off by default; the budget switches it on."""
    reasoning = body.get("reasoning", {})
    return reasoning.get("enabled") is True or "max_tokens" in reasoning, reasoning.get("max_tokens", WORDS)


def never(_: dict[str, Any]) -> tuple[bool, int]:
    """Return a model without thoughts."""
    return False, 0


def always(_: dict[str, Any]) -> tuple[bool, int]:
    """Return a model that cannot be stopped."""
    return True, WORDS


def in_field(thought: str, answer: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"content": answer, "reasoning_content": thought or None}, {}


def in_text(thought: str, answer: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Without a reasoning parser, and with a template that begins the thought."""
    return {"content": f"{thought}</think>\n\n{answer}" if thought else answer}, {}


def hidden(thought: str, answer: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"content": answer}, {"completion_tokens_details": {"reasoning_tokens": len(thought.split())}}


def in_parts(thought: str, answer: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Mistral: a list of parts."""
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}]
    return {"content": [*(thinking if thought else []), {"type": "text", "text": answer}]}, {}


def thinking_server(
    modes: Modes,
    form: Callable[[str, str], tuple[dict[str, Any], dict[str, Any]]] = in_field,
    refuses: tuple[str, ...] = (),
    limit: int | None = None,
    cut: str | None = "length",
) -> FaultProxy:
    """Return a server that answers "Yes" to everything.

    Args:
        modes: returns for a request if the model thinks, and the most words of its thought.
        refuses: parameters that it does not take.
        limit: most words of thought and answer; the rest is missing.
        cut: reason for the end of such an answer.
    """

    async def answer(request: web.Request, whole: dict[str, Any]) -> web.StreamResponse:
        body = await request.json()
        for name in refuses:
            if name in body:
                message = f"Unrecognized request argument supplied: {name}"
                return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=400)
        thinks, most = modes(body)
        thought = " ".join(THOUGHT.split()[:most]) if thinks else ""
        said = "Yes"
        finish: str | None = "stop"
        if limit is not None and thinks:
            thought, said, finish = " ".join(thought.split()[:limit]), "", cut
        message, details = form(thought, said)
        if finish == cut and form is in_text:
            message = {"content": thought}
        whole["choices"] = [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]
        counted = len(thought.split()) + len(said.split())
        if finish == cut:
            counted = body.get("max_tokens", counted)
        whole["usage"] = {"prompt_tokens": 5, "completion_tokens": counted, **details}
        return web.json_response(whole)

    return FaultProxy(misbehave=answer)
