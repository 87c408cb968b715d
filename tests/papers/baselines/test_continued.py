"""Continuations of sentences: whose, which, and why there is none."""

import re

import pytest
import torch

from kgprobe.models.generating import decoding
from kgprobe.models.generating.decoding import beam_search
from kgprobe.papers.baselines.items import BaselineItem, continue_sentences
from kgprobe.verbalize.sentences import Cloze
from tests.papers.baselines.examples import ASKED, CAPITAL, TOO_LONG, tiny


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


def test_uncut_continuation_is_as_long_as_longest_name_and_5(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each vowel would end a sentence.
    for name in ("_END", "_SUSPICIOUS"):
        monkeypatch.setattr(decoding, name, re.compile("[aeiou]"))
    scorer = tiny()
    tokenizer = scorer.tokenizer
    # The model continues this sentence with a space.
    spaced = BaselineItem(Cloze(CAPITAL, "C"), ("Tokyo City of the East",))
    items = [ASKED[0], ASKED[1], spaced, ASKED[0]]
    found = continue_sentences(scorer, items, 1, uncut=True)
    assert found.lines[2][0].startswith(" ")
    assert len(continue_sentences(scorer, [spaced], 1).lines[0][0]) < 5
    for item, lines in zip(items, found.lines, strict=True):
        tokens = [0, *tokenizer(item.cloze.prompt, add_special_tokens=False).input_ids]
        begin = len(tokens)
        longest = max(len(tokenizer(name, add_special_tokens=False).input_ids) for name in item.stripped)
        while len(tokens) < begin + longest + 5 and tokens[-1] != tokenizer.eos_token_id:
            with torch.no_grad():
                tokens.append(int(scorer.model(torch.tensor([tokens])).logits[0, -1].argmax()))
        assert lines == [tokenizer.decode(tokens[begin:], skip_special_tokens=True)]
    assert found.uncut
