"""Scoring behind an API: each form of answer is exact, and what lies is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.api.address import find_address
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.requests import Asker
from kgprobe.models.api.scorer import ApiScorer
from kgprobe.models.api.spending import ApiOptions, BudgetSpentError, Spending
from kgprobe.models.model import load_model
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.sentences import Passage, score_passages
from tests.cases import slow_except
from tests.models.api.score_server import PATHS, ScoreServer
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, tiny_scorer

pytestmark = pytest.mark.usefixtures("home")

PROMPTS = ["The capital of Japan is", "York is", "The capital of Japan is"]
NAMES = [["Tokyo", "Kyoto", "New York", "New Zealand", "Łódź"], ["a city", ""], ["Tokyo", "Tokyo, and"]]
FORMS = list(PATHS)


@pytest.fixture(scope="module")
def local() -> Scorer:
    return tiny_scorer("llama")


@pytest.fixture(scope="module")
def allowed(local: Scorer) -> float:
    """The difference between two scores of the same names in float32."""
    return score_tolerance(local.model, tokens=16)


def serve(local: Scorer, form: str = "token_ids", lie: str | None = None, **others: object) -> ScoreServer:
    return ScoreServer(local.model, local.tokenizer, form, lie, **others)


def scorer_of(server: ScoreServer, tokenizer: object = None, method: str | None = None, **how: object) -> ApiScorer:
    return ApiScorer(Asker(find_address(f"openai:tiny@{server.url}"), **how), tokenizer, method=method)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.representatives(2)
def test_scores_are_those_of_the_same_model_here(local: Scorer, allowed: float, form: str) -> None:
    with serve(local, form) as server:
        scorer = scorer_of(server, local.tokenizer if form == "echo_text" else None)
        assert scorer.handshake.method.name == form
        assert scorer.handshake.difference < allowed
        assert len(server.seen) <= 8
        # A text cannot end in a token for its end.
        for eos in (False, True) if form != "echo_text" else (False,):
            found, expected = scorer.score(PROMPTS, NAMES, eos=eos), local.score(PROMPTS, NAMES, eos=eos)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one.values, other.values, rtol=0, atol=allowed)
                assert one.reasons == other.reasons
        described = scorer.describe()
        assert (described["method"], described["url"]) == (form, server.url)


@pytest.mark.parametrize("form", slow_except(FORMS, ["token_ids"]))
def test_handshake_is_stored_until_the_server_changes(local: Scorer, tmp_path: Path, form: str) -> None:
    tokenizer = local.tokenizer if form == "echo_text" else None
    with serve(local, form, announced="b1", version="fp1") as server:
        cache = AnswerCache(tmp_path / "answers.sqlite")
        first = scorer_of(server, tokenizer, cache=cache)
        cold = len(server.seen)
        again = scorer_of(server, tokenizer, cache=cache)
        assert (len(server.seen), again.handshake) == (cold, first.handshake)
        scorer_of(server, tokenizer, cache=cache, options=ApiOptions(refresh=True))
        assert len(server.seen) == 2 * cold
        server.announced = "b2"
        third = scorer_of(server, tokenizer, cache=cache)
        assert len(server.seen) == 3 * cold
        # An answer of another version repeats the handshake, once.
        server.version = "fp2"
        third.score(PROMPTS[:1], [["Tokyo"]])
        assert third.handshake.versions[-1].endswith("fp2")
        seen = len(server.seen)
        scorer_of(server, tokenizer, cache=cache).score(PROMPTS[:1], [["Tokyo"]])
        assert len(server.seen) == seen


@pytest.mark.parametrize("lie", ["fewer", "own temperature"])
def test_change_to_a_lie_is_noticed_behind_a_stored_handshake(local: Scorer, tmp_path: Path, lie: str) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    with serve(local, version="fp1") as server:
        scorer_of(server, cache=cache)
        scorer = scorer_of(server, cache=cache)
        server.lie, stored = lie, len(cache)
        server.version = None if lie == "fewer" else "fp2"
        with pytest.raises(KgprobeError, match="cannot score"):
            scorer.score(PROMPTS, NAMES)
        assert len(cache) == stored
        with pytest.raises(KgprobeError, match="cannot score"):
            scorer_of(server, cache=cache)


def test_method_that_vanished_is_chosen_again(local: Scorer, tmp_path: Path, allowed: float) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    with serve(local, tells_tokens=False) as server:
        scorer_of(server, local.tokenizer, cache=cache)
        scorer = scorer_of(server, local.tokenizer, cache=cache)
        server.form = "echo"
        (found,), (expected,) = scorer.score(PROMPTS[:1], NAMES[:1]), local.score(PROMPTS[:1], NAMES[:1])
    assert scorer.handshake.method.name == "echo"
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=allowed)


def test_text_and_next_token_fit_into_the_context(local: Scorer) -> None:
    with serve(local, context=64) as server:
        scorer = scorer_of(server)
        texts = ["Tokyo" + " is" * count for count in range(20, 80)]
        lengths = [1 + len(local.tokenizer(text, add_special_tokens=False).input_ids) for text in texts]
        passages = [Passage(text, 0, 5) for text in texts]
        at = lengths.index(64)
        (whole,) = score_passages(scorer, [passages[at - 1 : at + 2]], leading=scorer.leading, from_span=False)
        # All but a sentence's last token are sent, and one is drawn behind them.
        assert set(whole.reasons) == {2}
        assert "65 tokens" in whole.reasons[2]
        (scored,) = scorer.score(["Tokyo"], [[text.removeprefix("Tokyo ") for text in texts[at - 1 : at + 2]]])
        assert set(scored.reasons) == {2}


@pytest.mark.parametrize(
    ("form", "lie", "told"),
    [
        ("token_ids", "fewer", "fewer log-probabilities than asked: 7 of 8"),
        ("token_ids", "not a number", "gives nan as a log-probability"),
        ("token_ids", "positive", r"as a log-probability \(method token_ids\)"),
        ("token_ids", "another tokenization", "The tokenizer is not the server's"),
        ("token_ids", "noise", "The same request gives other log-probabilities"),
        ("token_ids", "uniform", "All options are equally probable"),
        ("token_ids", "order", "depend on the order in which options are asked"),
        ("token_ids", "shared out", "depend on which other options are asked"),
        ("token_ids", "ignores the prompt", "do not depend on the prompt"),
        ("token_ids", "own temperature", "after the server's own sampling"),
        ("token_ids", "temperature zero", "after the server's own sampling"),
        ("token_ids", "top-k", "gives -9999.0 as a log-probability .* Does the server filter"),
        ("token_ids", "other model", "not the probabilities that it draws from"),
        ("token_ids", "side by side", "Parallel requests give other log-probabilities .* try `concurrency` 1"),
        ("n_probs", "ignores the bias", "fewer log-probabilities than asked: 0 of 1"),
        ("n_probs", "side by side", "Parallel requests give other log-probabilities"),
        ("token_ids_logprob", "fewer", "fewer log-probabilities than asked"),
        ("echo", "no echo", "does not echo the prompt"),
        ("echo", "shifted", "not the probabilities that it draws from|sum to"),
        ("echo", "another tokenization", "The tokenizer is not the server's"),
        ("echo", "own temperature", "after the server's own sampling"),
        ("echo", "side by side", "Parallel requests give other log-probabilities"),
    ],
)
@pytest.mark.representatives(6)
def test_server_that_lies_is_refused_with_what_it_lacks(local: Scorer, form: str, lie: str, told: str) -> None:
    with serve(local, form, lie) as server, pytest.raises(KgprobeError, match=f"cannot score.*{told}"):
        scorer_of(server)


def test_server_with_temperature_is_recognized(local: Scorer, allowed: float) -> None:
    with serve(local, "token_ids", "honest after sampling") as server:
        (found,), (expected,) = scorer_of(server).score(PROMPTS[:1], NAMES[:1]), local.score(PROMPTS[:1], NAMES[:1])
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=allowed)


@pytest.mark.parametrize("lie", slow_except(["fewer", "not a number", "positive"], ["fewer"]))
def test_server_that_begins_to_lie_is_stopped_at_the_request(local: Scorer, lie: str) -> None:
    with serve(local) as server:
        scorer = scorer_of(server)
        server.lie = lie
        with pytest.raises(KgprobeError, match="log-probabilit"):
            scorer.score(PROMPTS, NAMES)


def test_names_sharing_nodes_share_requests(local: Scorer, tmp_path: Path) -> None:
    with serve(local) as server:
        cache = AnswerCache(tmp_path / "answers.sqlite")
        scorer = scorer_of(server, cache=cache)
        before = len(server.seen)
        scorer.score(PROMPTS, NAMES)
        (first, _, third) = scorer.tokenize(PROMPTS, NAMES)
        nodes = {
            (*one.context[:start], *tail[:depth])
            for one in (first, third, scorer.tokenize(PROMPTS, NAMES)[1])
            for start, tail in zip(one.starts, one.tails, strict=True)
            for depth in range(len(tail))
        }
        assert len(server.seen) - before == len(nodes)
        scorer.score(PROMPTS, NAMES)
        assert len(server.seen) - before == len(nodes) == len(cache) - 1
        with pytest.raises(BudgetSpentError):
            scorer_of(server, spending=Spending(max_tokens=50))


def test_server_that_declines_many_options_gets_half_of_them(local: Scorer, allowed: float) -> None:
    names = [[f"{letter} city" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]]
    with serve(local, declines_more_than=9) as server:
        (found,), (expected,) = scorer_of(server).score(PROMPTS[:1], names), local.score(PROMPTS[:1], names)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=allowed)


def test_what_a_server_cannot_say_is_asked_for(local: Scorer) -> None:
    with serve(local, tells_tokens=False) as server:
        with pytest.raises(KgprobeError, match=r"does not tokenize .* name its tokenizer"):
            scorer_of(server)
        assert scorer_of(server, local.tokenizer).max_tokens is None
        with pytest.raises(KgprobeError, match="n_probs: HTTP 404"):
            scorer_of(server, local.tokenizer, "n_probs")
        with pytest.raises(ArgumentError, match="one of token_ids, n_probs"):
            scorer_of(server, local.tokenizer, "guess")
        with pytest.raises(KgprobeError, match="The tokenizer is not the server's"):
            scorer_of(server, byte_level(bos=False))
    with pytest.raises(KgprobeError, match="cannot be reached"):
        scorer_of(server, local.tokenizer, options=ApiOptions(attempts=1))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
@given(st.lists(st.lists(st.text(min_size=1, max_size=6), max_size=4), min_size=1, max_size=3))
def test_any_names_are_scored_as_here(shared: tuple[Scorer, ApiScorer], allowed: float, names: list[list[str]]) -> None:
    local, scorer = shared
    prompts = PROMPTS[: len(names)]
    for one, other in zip(scorer.score(prompts, names), local.score(prompts, names), strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=0, atol=allowed)
        assert one.reasons == other.reasons


@pytest.fixture(scope="module")
def shared(local: Scorer):
    with serve(local, "n_probs") as server:
        yield local, scorer_of(server, local.tokenizer)


def test_model_behind_an_api_scores_and_has_no_weights(local: Scorer) -> None:
    with serve(local) as server, load_model(f"openai:tiny@{server.url}") as model:
        assert model.scorer() is model.scorer()
        assert not model.refresh()
        with pytest.raises(KgprobeError, match=r"an API .* needs the model itself"):
            model.local_scorer()


@pytest.mark.slow
def test_real_server_without_log_probabilities_is_refused(api_model: tuple[str, str], demo_scorer: Scorer) -> None:
    model, url = api_model
    address = find_address(f"openai:{model}@{url}")
    with pytest.raises(KgprobeError, match=r"cannot score: no log-probabilities .* token_ids: "):
        ApiScorer(Asker(address, ApiOptions(attempts=2)), demo_scorer.tokenizer)
