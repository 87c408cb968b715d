"""Continuations of sentences: whose, which, and why there is none."""

import pytest

from kgprobe.models.generating.decoding import beam_search
from kgprobe.papers.baselines.items import continue_sentences
from tests.papers.baselines.examples import ASKED, TOO_LONG, tiny


@pytest.mark.parametrize("eos", [True, False])
def test_each_sentence_has_the_lines_of_its_search(eos: bool) -> None:
    scorer = tiny(eos=eos)
    asked = [ASKED[1], TOO_LONG, ASKED[0], ASKED[1]]
    found = continue_sentences(scorer, asked, 4, new_tokens=5)
    assert list(found.reasons) == [1]
    assert "longer than the 256" in found.reasons[1]
    assert found.lines[1] == []
    assert found.lines[0] == found.lines[3] != found.lines[2]
    (wanted,) = beam_search(scorer, [ASKED[0].cloze.prompt], 4, new_tokens=5)
    assert found.lines[2] == list(dict.fromkeys(one.answer for one in wanted))
    assert 1 <= len(found.lines[2]) <= 4
