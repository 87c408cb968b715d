"""Thinking of models behind APIs: parameters, the trial question, and answers behind thoughts."""

from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.errors import ArgumentError
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.thinking import WAYS, candidates
from kgprobe.models.generating.generator import Answer, Request
from kgprobe.models.generating.thinking import Thinking
from tests.models.api.fault_proxy import FaultProxy
from tests.models.api.thinking_server import (
    THOUGHT,
    WORDS,
    always,
    hidden,
    in_field,
    in_parts,
    in_text,
    never,
    of_effort,
    of_reasoning,
    of_template,
    thinking_server,
)
from tests.models.serving import api_generator

ON, OFF, BUDGET = Thinking(is_on=True), Thinking(is_on=False), Thinking(is_on=True, budget=3)


def ask(proxy: FaultProxy, thinking: Thinking | None, **shared: Any) -> Answer:
    generator = api_generator(f"openai:m@{proxy.url}", **shared)
    (answer,) = generator.answer([Request("Is it so?", 8, thinking=thinking)])
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize(
    ("modes", "form", "refuses", "way"),
    [
        (of_template, in_field, (), "chat_template_kwargs"),
        (of_template, in_text, (), "chat_template_kwargs"),
        (of_effort, hidden, ("chat_template_kwargs",), "reasoning_effort"),
        (of_effort, in_parts, (), "reasoning_effort"),
        (of_reasoning, in_field, (), "reasoning"),
    ],
)
@pytest.mark.representatives(2)
def test_way_is_found_and_answers_are_behind_the_thought(
    modes: Any, form: Any, refuses: tuple[str, ...], way: str
) -> None:
    with thinking_server(modes, form, refuses) as proxy:
        generator = api_generator(f"openai:m@{proxy.url}")
        assert generator.check_thinking(ON)["way"] == way
        on = ask(proxy, ON)
        assert (on.text, on.thought_cut) == ("Yes", False)
        assert on.thought_tokens == WORDS if form is hidden else on.thought_tokens > 0
        assert THOUGHT in on.thought or form is hidden
        # The thought and the answer have one limit.
        sent = proxy.seen[-1].body
        assert sent["max_tokens"] == 8 + ON.limit
        off = ask(proxy, OFF)
        assert (off.text, off.thought, off.thought_tokens) == ("Yes", "", 0)
        assert proxy.seen[-1].body["max_tokens"] == 8


def test_budget_is_sent_where_servers_take_one() -> None:
    with thinking_server(of_template) as proxy:
        answer = ask(proxy, BUDGET)
        assert proxy.seen[-1].body["thinking_token_budget"] == 3
        assert proxy.seen[-1].body["max_tokens"] == 8 + 3
        assert answer.thought.split() == THOUGHT.split()[:3]
    with thinking_server(of_template, refuses=("thinking_token_budget",)) as proxy:
        # Without one, its limit is that of the whole answer.
        assert ask(proxy, BUDGET).text == "Yes"
        assert "thinking_token_budget" not in proxy.seen[-1].body
        assert proxy.seen[-1].body["max_tokens"] == 8 + 3


def test_model_without_thoughts_is_refused_for_on() -> None:
    with thinking_server(never) as proxy:
        generator = api_generator(f"openai:m@{proxy.url}")
        with pytest.raises(ArgumentError, match=r"`thinking` is on; openai:m@.* cannot be set to it .*does not think"):
            generator.check_thinking(ON)
        tried = [set(seen.body) - {"model", "messages", "temperature", "max_tokens"} for seen in proxy.seen]
        assert set().union(*tried) == set(WAYS)
        assert generator.check_thinking(OFF)["way"] == "chat_template_kwargs"
    with thinking_server(never, refuses=tuple(WAYS)) as proxy:
        assert api_generator(f"openai:m@{proxy.url}").check_thinking(OFF)["parameters"] == {}


def test_model_that_always_thinks_is_refused_for_off() -> None:
    with thinking_server(always, in_text) as proxy:
        generator = api_generator(f"openai:m@{proxy.url}")
        with pytest.raises(ArgumentError, match="it still thinks"):
            generator.check_thinking(OFF)
        # The default is the server's own, and its thought is no part of the answer.
        answer = ask(proxy, None)
        assert (answer.text, answer.thought) == ("Yes", THOUGHT)
        assert set(proxy.seen[-1].body) == {"model", "messages", "temperature", "max_tokens"}


@pytest.mark.parametrize(
    ("form", "cut"),
    [(in_field, "length"), (in_text, "length"), (hidden, "length"), (in_text, "max_tokens"), (in_text, None)],
)
def test_thought_without_an_answer_is_no_answer(form: Any, cut: str | None) -> None:
    # The limit does not apply to the trial question, which has enough tokens.
    def modes(body: dict[str, Any]) -> tuple[bool, int]:
        return of_template(body)

    with thinking_server(modes, form) as proxy:
        generator = api_generator(f"openai:m@{proxy.url}")
        generator.check_thinking(ON)
        short = thinking_server(modes, form, limit=4, cut=cut)
        proxy.misbehave = short.misbehave
        sent = len(proxy.seen)
        (answer,) = generator.answer([Request("Is it so?", 8, thinking=ON)])
        assert isinstance(answer, Answer)
        assert (answer.text, answer.ended, answer.thought_cut) == ("", cut != "length", True)
        assert len(proxy.seen) == sent + 1, "a cut thought is paid for once"


def test_known_hosts_get_their_own_parameters() -> None:
    assert list(candidates("https://openrouter.ai/api/v1", BUDGET)) == [
        ("reasoning", {"reasoning": {"max_tokens": 3}}),
        ("reasoning", {"reasoning": {"enabled": True}}),
    ]
    assert {name for name, _ in candidates("https://api.openai.com/v1", ON)} == {"reasoning_effort"}
    assert {name for name, _ in candidates("http://localhost:8000/v1", ON)} == set(WAYS)


def test_cached_answers_keep_their_thoughts(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    with thinking_server(of_template) as proxy:
        first = ask(proxy, ON, cache=cache)
        sent = len(proxy.seen)
        # Neither the question nor the trial question is sent again.
        again = ask(proxy, ON, cache=cache)
        assert len(proxy.seen) == sent
        assert again.cached
        assert (again.text, again.thought, again.thought_tokens) == (first.text, first.thought, first.thought_tokens)
        # Another mode is another request.
        assert ask(proxy, OFF, cache=cache).thought_tokens == 0
        assert ask(proxy, None, cache=cache).thought == THOUGHT
