"""Clozes that a model writes: how they are weighed, and which are kept."""

import numpy as np
import pytest

from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.records import Relation
from kgprobe.verbalize.templates.examples import Example
from kgprobe.verbalize.templates.proposals import SHOTS, objections
from kgprobe.verbalize.templates.writing import PAIRED, choose, reason_for_none, weigh, write_clozes
from tests.models.tiny import byte_level, naive_score, random_model

PLACES = [("Japan", "Tokyo"), ("France", "Paris"), ("Poland", "Łódź"), ("Switzerland", "Zürich"), ("Lyon", "Paris")]
EXAMPLES = [Example(f"f{n}", subject, object_, 1, None, None, 1) for n, (subject, object_) in enumerate(PLACES)]
CAPITAL = Relation("P36", "capital", description="city of the government")


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    tokenizer = byte_level(bos=True)
    return Scorer(random_model("gpt2", len(tokenizer)), tokenizer, name="gpt2")


def test_a_cloze_is_weighed_by_its_definition(scorer: Scorer) -> None:
    # A second fact of a subject does not count.
    found = weigh(
        scorer,
        ["The capital of [X] is [Y]", "[X] has [Y]"],
        [*EXAMPLES, Example("g", "Japan", "Kyoto", 1, None, None, 1)],
    )
    for one, prompt in zip(found, ("The capital of {} is", "{} has"), strict=True):
        score = {
            (subject, object_): naive_score(scorer.model, scorer.tokenizer, [0], prompt.format(subject), object_)
            for subject, _ in PLACES
            for _, object_ in PLACES
        }
        assert one.log_probability == pytest.approx(np.mean([score[fact] for fact in PLACES]), abs=1e-4)
        pairs = [
            score[s, o] + score[t, p] > score[s, p] + score[t, o]
            for n, (s, o) in enumerate(PLACES)
            for t, p in PLACES[n + 1 :]
            if o != p
        ]
        assert len(pairs) == 9
        assert one.paired == pytest.approx(np.mean(pairs))
    assert weigh(scorer, ["[X] has [Y]"], EXAMPLES[:1])[0].paired is None
    assert weigh(scorer, [], EXAMPLES) == []


def test_what_is_kept_speaks_of_the_relation_or_tells_facts_apart(scorer: Scorer) -> None:
    proposals = [
        f"[X] {verb} [Y]" for verb in ("contains", "praises", "has", "sees", "holds", "wants", "loves", "needs")
    ]
    weighed = {one.cloze: one for one in weigh(scorer, proposals, EXAMPLES)}
    apart = {cloze for cloze, one in weighed.items() if one.paired is not None and one.paired >= PAIRED}
    named, malformed = (
        ["The capital of [X] is [Y]", "[X] has its government in [Y]"],
        ["[Y] is big, says [X]", "[X] has"],
    )
    kept, rejected = choose(scorer, CAPITAL, [*proposals, *named, *malformed], EXAMPLES, [])
    bad = {cloze for cloze in proposals if objections(cloze, CAPITAL, EXAMPLES, [])}
    assert {one.cloze for one in kept} == (apart - bad) | set(named)
    assert rejected.keys() == (set(proposals) - apart) | bad | set(malformed)
    assert 0 < len(apart - bad) < len(proposals) - len(bad)
    assert [one.log_probability for one in kept] == sorted((one.log_probability for one in kept), reverse=True)


def test_a_model_that_cannot_write_says_so(scorer: Scorer) -> None:
    with pytest.raises(TextError, match="longer than the 256"):
        write_clozes(scorer, CAPITAL, EXAMPLES, SHOTS, [], answers=3, keep=3, seed=0, as_of=20260101)
    # It takes in prompts of any length.
    scorer = Scorer(random_model("bloom", len(scorer.tokenizer)), scorer.tokenizer, name="bloom")
    written = write_clozes(scorer, CAPITAL, EXAMPLES, SHOTS, [], answers=3, keep=3, seed=0, as_of=20260101)
    assert (written.clozes, written.rejected, written.silent) == ([], {}, 3)
    assert reason_for_none(written, 3) == "none of 3 answers holds a sentence with [X] and [Y]"


@pytest.mark.slow
def test_a_small_real_model_writes_what_passes_the_checks(demo_scorer: Scorer) -> None:
    founder = Relation("P112", "founded by", description="founder of this organization")
    founded = [("Microsoft", "Bill Gates"), ("Amazon", "Jeff Bezos"), ("Facebook", "Mark Zuckerberg")]
    examples = [Example(subject, subject, object_, 1, None, None, 1) for subject, object_ in founded]
    others = [Relation("P36", "capital", clozes=("The capital of [X] is [Y]",))]
    written = write_clozes(demo_scorer, founder, examples, SHOTS, others, answers=8, keep=2, seed=0, as_of=20260101)
    assert 1 <= len(written.clozes) <= 2
    assert all(objections(one.cloze, founder, examples, others) == [] for one in written.clozes)
    assert "[X] was founded by [Y]" in [one.cloze for one in written.clozes]
    assert all(written.rejected.values())
    assert reason_for_none(written, 8).startswith("none of ")
