"""KaRR in the form that the tools name: of single sentences, or as its authors' code computes it.

Dong et al. 2023; docs/methods/baselines.md.
"""

from collections.abc import Sequence

from kgprobe.papers.baselines.karr_authors import measure_authors
from kgprobe.papers.baselines.karr_sentences import measure_sentences
from kgprobe.papers.baselines.register import BaselineKind, BySentence, Tools
from kgprobe.probes.clozes import ClozeItem


def _measure(tools: Tools, facts: Sequence[ClozeItem]) -> BySentence:
    return measure_authors(tools, facts) if tools.karr == "authors" else measure_sentences(tools, facts)


BASELINE = BaselineKind("karr", "probability of the object here, relative to other subjects and relations", _measure)
