"""ROUGE-L: how much of a name of the object stands, in order, in what the model goes on with.

Table 2 of the distractor paper, after Lin 2004; docs/methods/baselines.md. The F-measure of precision and recall of the
longest common subsequence of words. Words are runs of letters and digits of any script, in lower case, not stemmed.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from kgprobe.baselines.asked import NAMELESS, Asked, Values
from kgprobe.baselines.continued import Continued, over_beams
from kgprobe.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.probes.clozes import ClozeItem

WORDLESS = "no name of its object has a letter or digit"

_WORD = re.compile(r"[^\W_]+")


def rouge_l(asked: Sequence[Asked], continued: Continued) -> Values:
    """The greatest ROUGE-L over the object's names, with and without article, and the continuations of each sentence.

    Range: [0, 1]; 1 is a continuation that has a name's words and no other. An empty continuation gets 0.

    Cost: a comparison of each name with each continuation, some 20 µs.
    """
    # The package loads much that is not used here.
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], tokenizer=_Words())
    reasons = dict(continued.reasons)
    values = np.full(len(asked), np.nan)
    for number, (one, lines) in enumerate(zip(asked, continued.lines, strict=True)):
        names = [name for name in one.forms if _words(name)]
        if not names:
            reasons[number] = WORDLESS if one.continuations else NAMELESS
        elif number not in reasons:
            values[number] = max(scorer.score(name, line)["rougeL"].fmeasure for name in names for line in lines)
    return Values(values, reasons)


class _Words:
    """The interface that the package wants; its own words are of the letters a to z and digits alone."""

    def tokenize(self, text: str) -> list[str]:
        return _words(text)


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _measure(tools: Tools, items: Sequence[ClozeItem]) -> BySentence:
    return over_beams(tools, items, rouge_l)


BASELINE = BaselineKind("rouge-l", "how much of a name of the object stands in the continuation", _measure)
