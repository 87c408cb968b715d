"""Sentences about a few facts, with names of every kind: of one token and of several, not ASCII, white space, none."""

from kgprobe.models.scoring.scorer import Scorer
from kgprobe.papers.baselines.items import BaselineItem
from kgprobe.verbalize.sentences import Cloze
from tests.models.tiny import tiny_scorer

CAPITAL = "The capital of [X] is [Y]"

ASKED = [
    BaselineItem(Cloze(CAPITAL, "Japan"), ("Tokyo", "Tōkyō", "東京", "Tokyo City", " ", "Tokyo")),
    BaselineItem(Cloze("[X] is a city in the [Y]", "Łódź"), ("Poland", "Republic of Poland")),
    BaselineItem(Cloze("[X] is a city in [Y]", "Utrecht"), ("Netherlands", "The Netherlands")),
]
NAMELESS = BaselineItem(Cloze(CAPITAL, "Japan"), ("", " \t"))
TOO_LONG = BaselineItem(Cloze(CAPITAL, "York " * 300), ("York",))


def tiny(name: str = "gpt2", eos: bool = True) -> Scorer:
    """Return a model of random weights that takes in 256 tokens."""
    return tiny_scorer(name, name=name, eos=eos)
