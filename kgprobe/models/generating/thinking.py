"""Thinking of chat models: the requested mode, the markers around a thought, and the answer behind it.

A thought is text that a model writes before its answer, between two markers. It is never read as an answer: with or
without a request for thinking, an answer begins behind the end marker, and a thought without one leaves no answer.

``off`` switches thinking off, ``on`` switches it on, and a number is on with at most that many tokens. A thought that
is still open at its limit is cut: the model gets the end marker as if it had written it, and answers
(budget forcing: Muennighoff et al. 2025, s1: Simple test-time scaling, section 3.1). None is the default of the model
or server; templates on this machine that have ``enable_thinking`` get False then.
"""

import re
from dataclasses import dataclass
from typing import Any

from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import option

OFF, ON = "off", "on"
# Maximum tokens of a thought that is switched on without a budget.
LONGEST_THOUGHT = 4096
# Stored characters of a thought.
STORED_CHARACTERS = 1000
# Last words of a thought that is cut.
LAST_WORDS = "\n\nThis is enough; now the answer.\n"


@dataclass(frozen=True, slots=True)
class Thinking:
    """A requested mode of thinking.

    >>> Thinking.parse("on"), Thinking.parse("256").limit, str(Thinking.parse("256"))
    (Thinking(is_on=True, budget=None), 256, '256')

    Attributes:
        is_on: True to think before the answer, False to answer at once.
        budget: maximum tokens of a thought, at least 1; None for no own limit.
    """

    is_on: bool
    budget: int | None = None

    @classmethod
    def parse(cls, text: str | None) -> "Thinking | None":
        """Return the mode of an option's value (``off``, ``on`` or a number of tokens); None for None."""
        if text is None:
            return None
        if text in (OFF, ON):
            return cls(text == ON)
        if re.fullmatch(r"[1-9]\d{0,5}", text):
            return cls(is_on=True, budget=int(text))
        raise ArgumentError("thinking", f"is {text!r}; expected off, on, or a number of tokens, such as 512.")

    @property
    def limit(self) -> int:
        """Maximum tokens of a thought; 0 for ``off``."""
        return (self.budget or LONGEST_THOUGHT) if self.is_on else 0

    def __str__(self) -> str:
        return str(self.budget or (ON if self.is_on else OFF))


def thinking_option() -> Any:
    """Return the field ``thinking`` of a probe's options."""
    return option(
        None,
        "Thinking of a chat model before its answer: off, on (at most 4,096 tokens), or a maximum number of tokens.",
        metavar="off|on|TOKENS",
        shown_default="off in chat templates with enable_thinking, else the model's own",
    )


@dataclass(frozen=True, slots=True)
class Markers:
    """Texts around a thought.

    Attributes:
        begin: text before a thought; empty if everything before ``end`` is one.
        end: text between a thought and the answer.
        closing: text that ends a thought that is cut.
    """

    begin: str
    end: str
    closing: str


def _pair(begin: str, end: str) -> Markers:
    return Markers(begin, end, f"{end}\n\n")


# The markers of most models, from Qwen 3 and DeepSeek R1 to GLM, Granite and SmolLM.
THINK = _pair("<think>", "</think>")
_HARMONY_END = "<|channel|>final<|message|>"
# Markers by their first users: gpt-oss, Gemma 4, Magistral, Seed-OSS, Command A Reasoning, EXAONE Deep, Kimi-VL.
MARKERS = (
    Markers("", _HARMONY_END, f"<|end|><|start|>assistant{_HARMONY_END}"),
    Markers("<|channel>thought", "<channel|>", "<channel|>"),
    _pair("[THINK]", "[/THINK]"),
    _pair("<seed:think>", "</seed:think>"),
    _pair("<|START_THINKING|>", "<|END_THINKING|>"),
    _pair("<thought>", "</thought>"),
    _pair("◁think▷", "◁/think▷"),
    THINK,
)
# Texts around an answer after a thought: Granite 3, Hunyuan, Command A Reasoning.
_AROUND_ANSWERS = (
    ("<response>", "</response>"),
    ("<answer>", "</answer>"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
)


@dataclass(frozen=True, slots=True)
class Split:
    """A text split into thought and answer, both stripped; without an answer if the thought has not ended."""

    thought: str
    answer: str
    ended: bool = True


def split_thought(text: str) -> Split:
    """Return thought and answer of a generated text.

    >>> split_thought("<think>Paris? No, Lyon is larger.</think> Yes")
    Split(thought='Paris? No, Lyon is larger.', answer='Yes', ended=True)
    >>> split_thought("<think>Paris? No")
    Split(thought='Paris? No', answer='', ended=False)
    """
    for markers in MARKERS:
        thought, end, answer = text.rpartition(markers.end)
        if end:
            return Split(_without_begin(thought, markers), bare_answer(answer))
        if markers.begin and text.lstrip().startswith(markers.begin):
            return Split(_without_begin(text, markers), "", ended=False)
    return Split("", text.strip())


def bare_answer(text: str) -> str:
    """Return the answer behind a thought without the texts around it."""
    text = text.strip()
    for before, after in _AROUND_ANSWERS:
        if text.startswith(before):
            text = text.removeprefix(before).removesuffix(after).strip()
    return text


def _without_begin(thought: str, markers: Markers) -> str:
    return thought.strip().removeprefix(markers.begin).strip()
