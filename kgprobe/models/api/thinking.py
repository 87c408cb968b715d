"""Thinking of models behind APIs: the parameters that servers know, and a trial question that verifies them.

There is no common parameter. A known host has its own; for any other, the parameters are tried in turn, until a trial
question is answered in the requested mode: with a thought if thinking is on, without one if it is off. A thought shows
as a field of the message (``reasoning_content`` or ``reasoning``), as reasoning tokens in the usage, or as a text with
markers.

A budget is sent to servers that take one. Everywhere it limits the tokens of the whole answer: a server ends a thought
that is too long without an answer.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kgprobe.base.errors import ArgumentError
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.thinking import Thinking

# A question that models think about if they think at all; and enough tokens for an answer that is a thought.
_TRIAL = "How many days lie between the 3rd of March and the 21st of June of the same year? Answer with the number."
_TRIAL_TOKENS = 2048

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """Parameters of a kind of servers.

    Attributes:
        hosts: hosts that know no others.
        off, on: parameters for the two modes; several if models differ.
        budget: returns the parameters for a maximum number of tokens; None if servers take none.
    """

    hosts: tuple[str, ...]
    off: tuple[Parameters, ...]
    on: tuple[Parameters, ...]
    budget: Callable[[int], Parameters] | None = None


def _template(*, on: bool) -> Parameters:
    return {"chat_template_kwargs": {"enable_thinking": on, "thinking": on}}


def _template_budget(tokens: int) -> Parameters:
    """Return the parameters of vLLM, llama.cpp and SGLang; each ignores those of the others."""
    return {
        **_template(on=True),
        "thinking_token_budget": tokens,
        "reasoning_budget_tokens": tokens,
        "custom_params": {"thinking_budget": tokens},
    }


# Ways by name; for an unknown host, they are tried in this order.
WAYS: Mapping[str, ThinkingSwitch] = {
    # vLLM, SGLang, llama.cpp: the variables of the chat template.
    "chat_template_kwargs": ThinkingSwitch((), (_template(on=False),), (_template(on=True),), _template_budget),
    "reasoning_effort": ThinkingSwitch(
        ("api.openai.com", "api.x.ai", "api.mistral.ai", "generativelanguage.googleapis.com"),
        ({"reasoning_effort": "none"}, {"reasoning_effort": "minimal"}),
        ({"reasoning_effort": "medium"}, {"reasoning_effort": "high"}),
    ),
    "thinking": ThinkingSwitch(
        ("api.deepseek.com", "api.z.ai", "api.anthropic.com", "api.moonshot.ai"),
        ({"thinking": {"type": "disabled"}},),
        ({"thinking": {"type": "enabled"}},),
        lambda tokens: {"thinking": {"type": "enabled", "budget_tokens": tokens}},
    ),
    "reasoning": ThinkingSwitch(
        ("openrouter.ai",),
        ({"reasoning": {"effort": "none"}},),
        ({"reasoning": {"enabled": True}},),
        lambda tokens: {"reasoning": {"max_tokens": tokens}},
    ),
    "enable_thinking": ThinkingSwitch(
        ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
        ({"enable_thinking": False},),
        ({"enable_thinking": True},),
        lambda tokens: {"enable_thinking": True, "thinking_budget": tokens},
    ),
}


@dataclass(frozen=True, slots=True)
class VerifiedSwitch:
    """Parameters that set a model to a mode of thinking, verified by the trial question."""

    way: str
    parameters: Parameters

    def describe(self) -> dict[str, object]:
        """Return the parameters as JSON values."""
        return {"way": self.way, "parameters": dict(self.parameters)}


def candidates(url: str, thinking: Thinking) -> Iterator[tuple[str, Parameters]]:
    """Yield the parameters to try on a server, with the names of their ways."""
    host = urlsplit(url).hostname
    own = [name for name, way in WAYS.items() if host in way.hosts]
    for name in own or WAYS:
        way = WAYS[name]
        if thinking.budget is not None and way.budget is not None:
            yield name, way.budget(thinking.budget)
        # A server may refuse a budget, and then its limit is that of the whole answer.
        for parameters in way.on if thinking.is_on else way.off:
            yield name, parameters
    if not thinking.is_on:
        # A model that never thinks may refuse all of them.
        yield "no parameter", {}


def verify(
    model: str,
    url: str,
    thinking: Thinking,
    ask: Callable[[Request, VerifiedSwitch], Answer | Unanswered],
) -> VerifiedSwitch:
    """Return the first parameters that pass the trial question in a mode; raise ArgumentError if none do."""
    request = Request(_TRIAL, _TRIAL_TOKENS, thinking=thinking)
    faults: dict[str, str] = {}
    for way, parameters in candidates(url, thinking):
        verified = VerifiedSwitch(way, parameters)
        answer = ask(request, verified)
        if isinstance(answer, Unanswered):
            faults[way] = answer.reason
        elif (answer.thought_tokens > 0) == thinking.is_on:
            return verified
        else:
            faults[way] = "it does not think" if thinking.is_on else "it still thinks"
    tried = "; ".join(f"{way}: {fault}" for way, fault in faults.items())
    raise ArgumentError("thinking", f"is {thinking}; {model} cannot be set to it by any known parameter ({tried}).")
