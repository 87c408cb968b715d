"""ROUGE-L: overlap of the model's continuation with a name of the object, by words in order.

Table 2 of the distractor paper, after Lin 2004; docs/methods/baselines.md. The F-measure of precision and recall of the
longest common subsequence of words. Words are runs of letters and digits of any script, in lower case, not stemmed.
With continuations as published, it is that of characters, as in the code of the distractor paper.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import product
from types import SimpleNamespace

from kgprobe.papers.baselines.items import NAMELESS, BaselineItem, Continued, Values, over_beams
from kgprobe.papers.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.probes.clozes import ClozeItem

WORDLESS = "no name of its object has a letter or digit"

_WORD = re.compile(r"[^\W_]+")


def rouge_l(items: Sequence[BaselineItem], continued: Continued) -> Values:
    """Return the greatest ROUGE-L over the object's names, with and without article, and each sentence's continuations.

    Range: [0, 1]; 1 is a continuation with exactly the words of a name. An empty continuation scores 0.

    Cost: a comparison of each name with each continuation, about 20 µs.
    """
    # A slow import, needed by this baseline only.
    from rouge_score.rouge_scorer import RougeScorer

    # The package's own tokenizer knows only a to z and digits.
    units = list if continued.uncut else _words
    scorer = RougeScorer(["rougeL"], tokenizer=SimpleNamespace(tokenize=units))
    results: list[float | str] = []
    for number, (item, lines) in enumerate(zip(items, continued.lines, strict=True)):
        names = list(filter(units, item.forms))
        if not names:
            results.append(WORDLESS if item.continuations else NAMELESS)
        elif number in continued.reasons:
            results.append(continued.reasons[number])
        else:
            pairs = product(names, lines)
            results.append(max(scorer.score(name, line)["rougeL"].fmeasure for name, line in pairs))
    return Values.of(results)


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _measure(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    return over_beams(tools, facts, tools.beams, rouge_l)


BASELINE = BaselineKind("rouge-l", "overlap of the continuation with a name of the object", _measure)
