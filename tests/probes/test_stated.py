"""Stated confidences: how they are asked for and read, apart from the answer."""

import pytest

from kgprobe.probes.stated import asking_confidence, split_confidence
from kgprobe.verbalize.answers import named_in, read_yes_no
from kgprobe.verbalize.language import ENGLISH, language_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("Confidence: 90%", 0.9), ("**Confidence:** 95 %", 0.95), ("confidence = 7 percent.", 0.07)],
        *[("(Confidence: 0.9)", 0.9), ("Confidence: 0.9%", 0.009), ("Confidence: 90", 0.9), ("Confidence: 0", 0.0)],
        *[("Confidence: 90/100", 0.9), ("Confidence level: 92,5%", 0.925), ("Confidence: 1%", 0.01)],
        *[("Confidence: 100%, since 2 books say so", 1.0), ("Confidence: 90%. Confidence: 90", 0.9)],
        # Nothing is guessed.
        *[(f"Confidence: {text}", None) for text in ("1", "1.0", "101%", "-5%", "high", "ninety percent", "~90%")],
        *[
            (f"Confidence: {text}", None)
            for text in ("80-90%", "80% to 90%", "80% or 90%", "80%, 90%", "80 and 90", "9/10", "5 of 10", "1,000%")
        ],
        *[(f"Confidence: {text}", None) for text in ("3.5e1", "", "90% Confidence: 80%")],
        *[("", None), ("I am 90% sure.", None), ("It has 90% of them.", None)],
    ],
)
def test_confidence_is_read_strictly(text: str, value: float | None) -> None:
    answer, stated = split_confidence(f"It is Paris. {text}")
    assert stated.value == (None if value is None else pytest.approx(value))
    assert answer.startswith("It is Paris.")
    assert "onfidence" not in answer


def test_confidence_does_not_disturb_the_answer() -> None:
    for text in ("1890. Confidence: 45%", "Confidence: 45%\n1890", "It was 1890 (confidence: 45)", "45% sure: 1890"):
        answer, _ = split_confidence(text)
        assert named_in(answer, ["1890"]) == ["1890"], text
        assert named_in(answer, ["45", "45%"]) == [], text
        assert named_in(text, ["45", "45%"]) != []
    assert read_yes_no(split_confidence("Confidence: 30%\nNo, it is not.")[0]).yes is False
    # A share in the answer is not a confidence.
    assert named_in(split_confidence("45%. Confidence: 80%")[0], ["45%"]) == ["45%"]


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_examples_of_a_prompt_state_confidences(language: str) -> None:
    own = ENGLISH if language == "en" else language_of(language)
    for prompt in (own.prompts.yes_no, own.prompts.wh, own.prompts.wh_all, own.prompts.true_false):
        asked = asking_confidence(prompt, own)
        assert asked.split("\n\n")[-1] == prompt.split("\n\n")[-1]
        shown = [split_confidence(example)[1].value for example in asked.split("\n\n")[1:-1]]
        assert None not in shown
        assert len(shown) == prompt.count("\n\n") - 1
        assert (0.0 in shown) == (prompt is own.prompts.true_false)
