"""Plausibility as the sum over names, and why an entity has none."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.search.plausibility import Candidates, log_plausibilities
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.sentences import Cloze
from tests.models.exactness import score_tolerance
from tests.models.tiny import naive_score, tiny_scorer

CLOZE = Cloze("The capital of [X] is [Y]", "Japan")
NAMES = [("Tokyo", "Tokyo City"), ("Kyoto", "York " * 300, "\ud800"), (" ",), ("York", "New York", "York")]


@pytest.fixture(scope="module")
def tiny() -> Scorer:
    return tiny_scorer()


def test_unusable_name_leaves_only_its_entity_without_value(tiny: Scorer) -> None:
    long = Candidates(Cloze("The capital of [X] is [Y]", "Japan " * 300), NAMES)
    found, nothing, short = log_plausibilities(tiny, [Candidates(CLOZE, NAMES), long, Candidates(CLOZE, NAMES[:1])])
    # The first of its names that the model cannot take says why.
    assert found.reasons.keys() == {1}
    assert "more than the 256" in found.reasons[1]
    assert np.isnan(found.values).tolist() == [False, True, False, False]
    assert found.values[2] == -math.inf
    allowed = score_tolerance(tiny.model)
    for place, names in ((0, ["Tokyo", "Tokyo City"]), (3, ["York", "New York"])):
        naive = [naive_score(tiny.model, tiny.tokenizer, [0], CLOZE.prompt, name, eos=True) for name in names]
        assert found.values[place] == pytest.approx(logsumexp(naive), abs=allowed)
    assert short.values == pytest.approx(found.values[:1], abs=allowed)
    # A sentence that cannot be taken leaves all of them without.
    assert nothing.reasons.keys() == {0, 1, 3}
    assert nothing.values[2] == -math.inf


@pytest.mark.parametrize(
    ("code", "template", "names", "joined"),
    [
        ("zh", "[X]的首都是[Y]", ("北京", "京师"), ["法国的首都是北京", "法国的首都是京师"]),
        ("de", "Land von [X] ist [Y]", ("Schweiz",), ["Land von 法国 ist die Schweiz"]),
        ("fr", "[X] est membre de [Y]", ("Japon", "Oslo"), ["法国 est membre du Japon", "法国 est membre d'Oslo"]),
    ],
)
def test_names_are_joined_as_their_language_does(
    tiny: Scorer, code: str, template: str, names: tuple[str, ...], joined: list[str]
) -> None:
    cloze = Cloze(template, "法国", language=language_of(code))
    (scored,) = log_plausibilities(tiny, [Candidates(cloze, [names])])
    naive = [naive_score(tiny.model, tiny.tokenizer, [0], cloze.prompt, "", eos=True, joined=text) for text in joined]
    assert scored.values == pytest.approx([logsumexp(naive)], abs=score_tolerance(tiny.model))
