"""Thinking of models here: switches of chat templates, thoughts with and without a limit, answers behind them."""

import pytest

from kgprobe.base.errors import ArgumentError
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.generating.thinking import LONGEST_THOUGHT, Split, Thinking, split_thought
from kgprobe.models.spec import wrap_scorer
from tests.models.thinker import ALWAYS, DEEPSEEK, HARMONY, HARMONY_NEXT, NEXT, NO_SWITCH, QWEN, WORDS, thinker
from tests.models.tiny import byte_level, random_model

ON, OFF = Thinking(is_on=True), Thinking(is_on=False)


def answers(generator: LocalGenerator, requests: list[Request]) -> list[Answer]:
    found = generator.answer(requests)
    assert all(isinstance(answer, Answer) for answer in found)
    return [answer for answer in found if isinstance(answer, Answer)]


def sampled(thinking: Thinking | None, count: int = 8) -> list[Request]:
    return [Request("Is it so?", 4, 1.0, seed, thinking=thinking) for seed in range(count)]


@pytest.mark.parametrize("text", ["yes", "0", "-3", "1.5", "1000000", "On", ""])
def test_parse_other_text_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="expected off, on, or a number"):
        Thinking.parse(text)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("Yes, <think> is a word.", Split("", "Yes, <think> is a word.")),
        ("No. </think> Yes", Split("No.", "Yes")),
        ("<think>No</think> or </think><response>Yes</response>", Split("No</think> or", "Yes")),
        (" <think> No", Split("No", "", ended=False)),
        ("[THINK]No[/THINK]Yes", Split("No", "Yes")),
        ("<|channel>thought\nNo<channel|>Yes", Split("No", "Yes")),
        ("<seed:think>No", Split("No", "", ended=False)),
    ],
)
def test_split_thought_reads_the_answer_behind_it(text: str, split: Split) -> None:
    assert split_thought(text) == split


@pytest.mark.parametrize(
    ("template", "switch"),
    [(QWEN, "enable_thinking"), (DEEPSEEK, "thinking"), (WORDS, "words of the system message")],
)
def test_switch_is_found_by_rendering(template: str, switch: str) -> None:
    generator = LocalGenerator(thinker(template))
    assert generator.check_thinking(ON)["switch"] == switch
    assert generator.check_thinking(OFF)["switch"] == switch
    (off,) = answers(generator, [Request("Is it so?", 4, thinking=OFF)])
    assert (off.text, off.thought, off.thought_tokens, off.completion_tokens) == ("No", "", 0, 2)
    on = answers(generator, sampled(ON))
    assert {(answer.text, answer.thought_cut) for answer in on} == {("Yes", False)}
    assert all(answer.thought.endswith("Hmm") for answer in on)
    # Rows of different lengths end by themselves.
    assert len({answer.thought_tokens for answer in on}) > 3
    for answer in on:
        # The thought, its answer of one token, and the end of the turn.
        assert answer.completion_tokens == answer.thought_tokens + 2


def test_default_is_off_and_removes_thoughts() -> None:
    (plain,) = answers(LocalGenerator(thinker(QWEN)), [Request("Is it so?", 4)])
    assert plain.text == "No"
    # Without a switch, the model of this template thinks, within the tokens of its answer.
    found = answers(LocalGenerator(thinker(NO_SWITCH)), [Request("Is it?", 12, 1.0, seed) for seed in range(12)])
    assert {(answer.text, answer.ended) for answer in found} == {("Yes", True), ("", False)}
    assert all(answer.thought.startswith("No,") for answer in found)
    assert all(answer.completion_tokens <= 12 for answer in found)
    assert all(answer.thought_cut == (not answer.text) for answer in found)


def test_budget_cuts_thoughts_and_the_model_answers() -> None:
    generator = LocalGenerator(thinker())
    budget = Thinking(is_on=True, budget=6)
    found = answers(generator, sampled(budget, 20))
    cut = [answer for answer in found if answer.thought_cut]
    assert 0 < len(cut) < 20
    # The end marker of a cut thought ends with a blank line, after which this model says no.
    assert {(answer.text, answer.thought, answer.thought_tokens, answer.ended) for answer in cut} == {
        ("No", "No,HmmHmmHmmHmm", 6, True)
    }
    assert {answer.text for answer in found if not answer.thought_cut} == {"Yes"}
    assert max(answer.thought_tokens for answer in found) == 6
    assert found == [generator.answer([request])[0] for request in sampled(budget, 20)]


def test_on_ends_a_thought_at_what_the_context_leaves() -> None:
    # This model never ends its thought.
    endless = {"\n": {"<think>": 1.0}, "<think>": {"Hmm": 1.0}, "Hmm": {"Hmm": 1.0}, "\n\n": {"No": 1.0}}
    generator = LocalGenerator(thinker(following=endless, positions=128))
    prompts = ["Is it so?", "Is it so, or is it otherwise?"]
    found = answers(generator, [Request(prompt, 4, thinking=ON) for prompt in prompts])
    assert [answer.text for answer in found] == ["No", "No"]
    closing = len(generator._template.form(ON).closing)
    for answer in found:
        assert answer.thought_cut
        assert answer.prompt_tokens + answer.thought_tokens + closing + 4 == 128
    assert LONGEST_THOUGHT > 128
    (long,) = generator.answer([Request("Is it so?", 4, thinking=Thinking(is_on=True, budget=200))])
    assert isinstance(long, Unanswered)
    assert "longer than the 128" in long.reason


def test_template_without_switch_is_refused_for_on() -> None:
    generator = LocalGenerator(thinker(NO_SWITCH))
    for thinking in (ON, Thinking(is_on=True, budget=9)):
        with pytest.raises(ArgumentError, match="thinker has no thinking switch"):
            generator.check_thinking(thinking)
    assert generator.check_thinking(OFF)["switch"] is None


def test_template_that_always_thinks_is_refused_for_off() -> None:
    generator = LocalGenerator(thinker(ALWAYS, {**NEXT, "\n": {"No,": 1}}))
    with pytest.raises(ArgumentError, match="always begins with a thought"):
        generator.check_thinking(OFF)
    assert generator.check_thinking(ON)["switch"] is None
    assert {answer.text for answer in answers(generator, sampled(ON))} == {"Yes"}
    # A thought that begins in the template is one without its first marker.
    short = answers(generator, [Request("Is it?", 3, 1.0, seed) for seed in range(6)])
    assert {(answer.text, answer.ended) for answer in short} == {("", False)}
    assert {answer.thought for answer in short} <= {"No,Hmm", "No,HmmHmm"}


def test_channels_of_harmony_are_no_part_of_an_answer() -> None:
    generator = LocalGenerator(thinker(HARMONY, HARMONY_NEXT))
    with pytest.raises(ArgumentError, match="always begins with a thought"):
        generator.check_thinking(OFF)
    assert generator.check_thinking(ON)["arguments"] == {"reasoning_effort": "medium"}
    for thinking in (ON, Thinking(is_on=True, budget=5)):
        found = answers(generator, sampled(thinking, 16))
        ended = [answer for answer in found if answer.ended and answer.text]
        assert ended
        assert all(not {"analysis", "final", "assistant"} & set(answer.text.split()) for answer in found)
        assert all("Yes" in answer.text for answer in ended)


def test_continuation_has_no_thought() -> None:
    generator = LocalGenerator(thinker())
    (answer,) = answers(generator, [Request("Is it so?\n", 6, continuation=True)])
    assert (answer.thought, answer.thought_tokens) == ("", 0)


def test_base_model_has_no_switch() -> None:
    generator = LocalGenerator(wrap_scorer(random_model("gpt2", 380), byte_level()))
    with pytest.raises(ArgumentError, match="has no thinking switch"):
        generator.check_thinking(ON)
    assert generator.check_thinking(OFF) == {"switch": None}
