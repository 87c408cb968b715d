"""The grader: what it is asked, and what becomes of its verdicts."""

from collections.abc import Sequence

import numpy as np
import pytest

from kgprobe.papers.baselines.grader import grading_prompt, llm_grader, local_grader
from kgprobe.papers.baselines.items import Continued
from tests.models.tiny import naive_score
from tests.papers.baselines.examples import ASKED, NAMELESS, tiny

LINES = [["Kyoto", "東京 is it"], ["France"], ["Utrecht", ""]]


def strict(prompts: Sequence[str]) -> list[bool | None]:
    """Return a grader that accepts what begins with an accepted answer."""
    verdicts: list[bool | None] = []
    for prompt in prompts:
        names, line = prompt.splitlines()[-3:-1]
        accepted = names.removeprefix("Accepted answers: ").split("; ")
        verdicts.append(any(line.removeprefix("Completion: ").startswith(name) for name in accepted))
    return verdicts


def test_sentence_is_right_if_any_continuation_is() -> None:
    assert llm_grader(strict, ASKED, Continued(LINES)).values.tolist() == [1, 0, 0]


def test_grader_is_told_all_names_and_asked_once() -> None:
    asked: list[str] = []

    def grader(prompts: Sequence[str]) -> list[bool | None]:
        asked.extend(prompts)
        return [None if "Kyoto" in prompt else False for prompt in prompts]

    nameless = [*ASKED, ASKED[1], NAMELESS, ASKED[0], ASKED[2]]
    continued = Continued([*LINES, LINES[1], ["x"], ["Kyoto"], []], {6: "too long"})
    found = llm_grader(grader, nameless, continued)
    assert len(asked) == len(set(asked)) == 4
    assert asked[0] == grading_prompt(
        "The capital of Japan is", ["Tokyo", "Tōkyō", "東京", "Tokyo City", "Tokyo"], "Kyoto"
    )
    assert np.isnan(found.values).tolist() == [False, False, False, False, True, True, True]
    assert found.reasons == {
        4: "all names of its object are white space",
        5: "the grader could judge none of its continuations",
        6: "too long",
    }


def test_empty_continuation_is_wrong_and_nobody_is_asked() -> None:
    def grader(prompts: Sequence[str]) -> list[bool | None]:
        raise AssertionError(prompts)

    assert llm_grader(grader, ASKED[:1], Continued([[""]])).values.tolist() == [0]


@pytest.mark.parametrize("name", ["llama", "mamba"])
def test_local_grader_compares_two_words(name: str) -> None:
    scorer = tiny(name)
    prompts = ["Tokyo is Tokyo:", "Paris is York:", "Verdict:", "New York is a city:"]
    wanted = []
    for prompt in prompts:
        scores = [naive_score(scorer.model, scorer.tokenizer, [0], prompt, word) for word in ("correct", "incorrect")]
        wanted.append(scores[0] > scores[1])
    assert list(local_grader(scorer)(prompts)) == wanted


def test_local_grader_says_nothing_of_what_is_too_long() -> None:
    grader = local_grader(tiny("gpt2"))
    verdicts = grader(["Verdict:", "York " * 300])
    assert verdicts[0] is not None
    assert verdicts[1] is None
    assert grader([]) == []
