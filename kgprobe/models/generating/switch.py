"""The thinking switch of a chat template: its variable, and the beginning of the model's turn in each mode.

A switch is found by rendering a short message in both modes: a variable that changes the text is a switch. The
markers of a thought (:mod:`.thinking`) are those in the template or among the tokenizer's added tokens.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.generating.thinking import LAST_WORDS, MARKERS, OFF, THINK, Markers, Thinking
from kgprobe.models.scoring.tokens import NO_THINKING, chat_text, chat_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_TRIAL = "How?"
# Variables of chat templates, with their values for thinking and for none: Qwen 3, GLM 4.5, Gemma 4, SmolLM 3;
# Granite, DeepSeek V3.1, Kimi; Command A Reasoning; MiniMax; Seed-OSS; gpt-oss; Mistral, which has no medium effort.
_VARIABLES: tuple[tuple[str, Any, Any], ...] = (
    ("enable_thinking", True, False),
    ("thinking", True, False),
    ("reasoning", True, False),
    ("thinking_mode", "enabled", "disabled"),
    ("thinking_budget", -1, 0),
    ("reasoning_effort", "medium", "none"),
    ("reasoning_effort", "high", "none"),
)
# Words in a system message: Nemotron Nano 2, SmolLM 3.
_WORDS = ("/think", "/no_think")


@dataclass(frozen=True, slots=True)
class Setting:
    """A mode of a chat template: values of its variables, and a system message; None for none."""

    arguments: Mapping[str, Any]
    system: str | None = None

    def text(self, tokenizer: "PreTrainedTokenizerBase", prompt: str) -> str:
        """Return a user's message in the template, up to the beginning of the model's turn."""
        messages = [("user", prompt)] if self.system is None else [("system", self.system), ("user", prompt)]
        return chat_text(tokenizer, messages, arguments=self.arguments)


# Setting without a request.
DEFAULT = Setting(NO_THINKING)


@dataclass(frozen=True, slots=True)
class ThoughtForm:
    """The form of a model's thoughts.

    Attributes:
        closing: token ids that end a thought at its limit.
        decode: returns the text of token ids with special tokens.
        begins: True if the model's turn begins in a thought.
    """

    markers: Markers
    closing: Sequence[int]
    decode: Callable[[Sequence[int]], str]
    begins: bool

    def is_end(self, tokens: Sequence[int]) -> bool:
        """Return True if the last token completes the end marker."""
        end = self.markers.end
        # The marker has at most one token for each character, and the last one may contain more text.
        return end[-1] in self.decode(tokens[-1:]) and end in self.decode(tokens[-len(end) - 1 :])

    def thought(self, tokens: Sequence[int]) -> str:
        """Return the text of a thought's tokens without the markers."""
        text = self.decode(tokens).partition(self.markers.end)[0].strip()
        return text.removeprefix(self.markers.begin).strip()


@dataclass(frozen=True, slots=True)
class Switch:
    """A way to switch thinking, with its name for descriptions."""

    name: str
    on: Setting
    off: Setting


class ThinkingTemplate:
    """The thinking of a chat model by its template."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Use the tokenizer of a chat model; its template is rendered when needed."""
        self._tokenizer = tokenizer
        self._forms: dict[Thinking | None, ThoughtForm] = {}

    @cached_property
    def markers(self) -> Markers:
        """The markers around the model's thoughts."""
        template = str(self._tokenizer.chat_template)
        # Templates put the parts of the harmony format together.
        if "<|channel|>" in template and "<|message|>" in template and "analysis" in template:
            return MARKERS[0]
        for known in (template, " ".join(self._tokenizer.get_added_vocab())):
            for markers in MARKERS:
                if markers.begin and markers.begin in known and markers.end in known:
                    return markers
        return THINK

    @cached_property
    def switch(self) -> Switch | None:
        """The template's switch; None if it has none."""
        for name, on, off in _VARIABLES:
            switch = Switch(name, Setting({name: on}), Setting({name: off}))
            if self._differ(switch):
                return switch
        think, no_think = _WORDS
        if no_think in str(self._tokenizer.chat_template):
            switch = Switch("words of the system message", Setting({}, think), Setting({}, no_think))
            if self._differ(switch):
                return switch
        return None

    @property
    def always_thinks(self) -> bool:
        """True if the model's turn begins in a thought, also with thinking switched off."""
        return self.begins_in_thought(self.switch.off if self.switch else DEFAULT)

    def setting(self, thinking: Thinking | None) -> Setting:
        """Return the template's setting for a mode."""
        if thinking is None:
            return DEFAULT
        if self.switch is None:
            return Setting({})
        return self.switch.on if thinking.is_on else self.switch.off

    def begins_in_thought(self, setting: Setting) -> bool:
        """Return True if the model's turn begins in a thought."""
        if not self.markers.begin:
            return True
        turn = setting.text(self._tokenizer, _TRIAL).rpartition(_TRIAL)[2]
        return turn.rfind(self.markers.begin) > turn.rfind(self.markers.end)

    def form(self, thinking: Thinking | None) -> ThoughtForm:
        """Return the form of the model's thoughts in a mode."""
        if thinking not in self._forms:
            (closing,) = chat_tokens(self._tokenizer, [LAST_WORDS + self.markers.closing])

            def decode(tokens: Sequence[int]) -> str:
                return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))

            begins = self.begins_in_thought(self.setting(thinking))
            self._forms[thinking] = ThoughtForm(self.markers, closing, decode, begins)
        return self._forms[thinking]

    def check(self, thinking: Thinking, model: str) -> dict[str, object]:
        """Return how the template is set to a mode, as JSON values; raise ArgumentError if it cannot be."""
        always = self.always_thinks
        if not thinking.is_on and always:
            raise ArgumentError("thinking", f"is {OFF}; the chat template of {model} always begins with a thought.")
        if thinking.is_on and self.switch is None and not always:
            raise ArgumentError("thinking", no_switch(model, thinking))
        setting = self.setting(thinking)
        described: dict[str, object] = {"switch": self.switch.name if self.switch else None}
        described["arguments"] = dict(setting.arguments)
        if thinking.is_on:
            described |= {"limit": thinking.limit, "end": self.markers.closing}
        return described

    def _differ(self, switch: Switch) -> bool:
        """Return True if the two settings differ in more than the words of a system message."""
        texts = []
        for setting in (switch.on, switch.off):
            try:
                text = setting.text(self._tokenizer, _TRIAL)
            # A template may refuse a value or a system message.
            except KgprobeError:
                return False
            texts.append(text.replace(setting.system, "") if setting.system else text)
        return texts[0] != texts[1]


def no_switch(model: str, thinking: Thinking) -> str:
    """Return the message about a model without a switch, to follow the argument's name."""
    return (
        f"is {thinking}; the chat template of {model} has no thinking switch. Leave the option out, or use"
        f" {OFF} for a model that never thinks."
    )
