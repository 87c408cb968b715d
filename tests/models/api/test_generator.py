"""Models behind an API: through a real server, and through whatever can go wrong before it."""

import asyncio
import json
import logging
import os
import signal
import time
from pathlib import Path

import pytest
from aiohttp import web
from transformers import GenerationConfig

from kgprobe.base.errors import KgprobeError
from kgprobe.models.api import requests as module
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.generator import ApiGenerator
from kgprobe.models.api.spending import ApiOptions, BudgetSpentError, Prices, Spending
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.scoring.scorer import Scorer
from tests.cases import slow_except
from tests.models.api.fault_proxy import KINDS, FaultProxy, at_random, first
from tests.models.serving import TEMPLATE, api_generator, start_asking

QUESTIONS = [
    *(f"What is the capital of {country}?" for country in ("Japan", "France", "Italy", "Poland", "Cuba", "Peru")),
    *(f"Is Paris the capital of {country}? Answer with Yes or No." for country in ("France", "Italy")),
]

# A fault that hangs takes the seconds of its timeout.
QUICK_KINDS = [kind for kind in KINDS if kind != "hang"]


def generator(proxy: FaultProxy, spending: Spending | None = None, cache: AnswerCache | None = None, **options: object):
    made = api_generator(f"openai:m@{proxy.url}", api=ApiOptions(**options), spending=spending, cache=cache)
    assert isinstance(made, ApiGenerator)
    return made


def usage(made: ApiGenerator):
    return made.spending.usage[made.name]


def requests(count: int, tokens: int = 8) -> list[Request]:
    return [Request(f"Question number {number}", tokens) for number in range(count)]


@pytest.mark.slow
def test_server_and_the_same_model_here_say_the_same(
    api_model: tuple[str, str], demo_scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, url = api_model
    monkeypatch.setattr(demo_scorer.tokenizer, "chat_template", TEMPLATE)
    monkeypatch.setattr(demo_scorer.model, "generation_config", GenerationConfig.from_pretrained(model))
    asked = [Request(question, 6) for question in QUESTIONS[3:]]
    here, there = LocalGenerator(demo_scorer), api_generator(f"openai:{model}@{url}")
    for one, other in zip(here.answer(asked), there.answer(asked), strict=True):
        assert isinstance(one, Answer)
        assert isinstance(other, Answer)
        assert (one.text, one.prompt_tokens, one.ended) == (other.text, other.prompt_tokens, other.ended)


@pytest.mark.parametrize("kind", slow_except([kind for kind in KINDS if kind != "refusal"], QUICK_KINDS))
def test_each_fault_is_got_over(kind: str) -> None:
    with FaultProxy(faults=first(2, kind)) as proxy:
        made = generator(proxy, timeout=4 if kind == "hang" else 30)
        (answer,) = made.answer([Request("Why?", 8)])
        assert answer == Answer("You said: Why?", prompt_tokens=1, completion_tokens=3)
        assert [one.kind for one in proxy.seen] == [kind, kind, None]
        counted = usage(made)
        assert (counted.requests, counted.retries, counted.answers) == (3, 2, 1)
        # An empty answer is paid for; of one that was lost on its way nobody knows.
        assert counted.completion_tokens == (9 if kind == "empty" else 3)
        assert (counted.unsettled_tokens > 0) == (kind in ("hang", "cut", "malformed"))


@pytest.mark.parametrize("kind", slow_except([kind for kind in KINDS if kind not in ("refusal", "empty")], QUICK_KINDS))
def test_lasting_fault_is_reported_others_are_answered(kind: str) -> None:
    def faults(prompt: str, _before: int) -> str | None:
        return kind if prompt == "Question number 3" else None

    with FaultProxy(faults=faults) as proxy:
        made = generator(proxy, timeout=4 if kind == "hang" else 30, attempts=3)
        done: list[int] = []
        found = made.answer(requests(6), done.append)
        assert [isinstance(answer, Unanswered) for answer in found] == [number == 3 for number in range(6)]
        assert isinstance(found[3], Unanswered)
        assert "attempts" in found[3].reason
        assert proxy.kinds()[kind] >= 3
        assert sum(done) == 6


def test_refusal_is_an_answer() -> None:
    with FaultProxy(faults=first(1, "refusal")) as proxy:
        (answer,) = generator(proxy).answer([Request("Why?", 8)])
        assert isinstance(answer, Answer)
        assert answer.refused
        assert len(proxy.seen) == 1


def test_answer_that_stays_empty_is_unanswered() -> None:
    with FaultProxy(faults=first(9, "empty")) as proxy:
        made = generator(proxy, attempts=3)
        (answer,) = made.answer([Request("Why?", 8)])
        assert answer == Unanswered("the answer was empty (3 attempts)")
        assert len(proxy.seen) == 3
        assert usage(made).prompt_tokens == 3


def test_refresh_asks_answered_questions_again(tmp_path: Path) -> None:
    said = "before"
    with FaultProxy(upstream=lambda _: said) as proxy:
        for refresh, text in ((False, "before"), (False, "before"), (True, "after"), (False, "after")):
            cache = AnswerCache(tmp_path / "answers.sqlite")
            made = generator(proxy, cache=cache, refresh=refresh)
            # By one command each is asked once.
            found = [made.answer([Request("Why?", 8)])[0] for _ in range(2)]
            assert [answer.text for answer in found if isinstance(answer, Answer)] == [text, text]
            cache.close()
            said = "after"
        assert proxy.answered.total() == 2


@pytest.mark.slow
def test_program_that_is_killed_goes_on_without_asking_again(tmp_path: Path) -> None:
    path, count = tmp_path / "answers.sqlite", 400
    with FaultProxy(faults=at_random(0.1, seed=2), delay=0.05) as proxy:
        child = start_asking(proxy.url, path, count, concurrency=8, timeout=6)
        try:
            while len(proxy.answered) < 120:
                assert child.poll() is None
                time.sleep(0.01)
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        cache = AnswerCache(path)
        before = len(proxy.seen)
        finished = {one.prompt for one in proxy.seen if one.kind in (None, "refusal") and one.delivered}
        # Up to as many as were under way were answered and never read.
        kept = len(cache)
        assert 120 - 8 <= kept < count
        made = generator(proxy, cache=cache, concurrency=8, timeout=6)
        found = made.answer(requests(count))
        assert all(isinstance(answer, Answer) for answer in found)
        cached = [answer.cached for answer in found if isinstance(answer, Answer)]
        assert sum(cached) == kept
        asked_again = {one.prompt for one in proxy.seen[before:]}
        assert asked_again == {f"Question number {number}" for number, it in enumerate(cached) if not it}
        assert len(finished & asked_again) <= 8
        assert (usage(made).cached, usage(made).answers) == (kept, count - kept)
        # From now on it costs nothing.
        sent = len(proxy.seen)
        repeated = generator(proxy, cache=cache).answer(requests(count))
        assert len(proxy.seen) == sent
        assert [answer.text for answer in repeated if isinstance(answer, Answer)] == [
            answer.text for answer in found if isinstance(answer, Answer)
        ]


@pytest.mark.slow
def test_told_to_wait_all_wait() -> None:
    def faults(prompt: str, before: int) -> str | None:
        return "limited" if prompt == "Question number 40" and before == 0 else None

    with FaultProxy(faults=faults, delay=0.01, retry_after="1.5") as proxy:
        assert len(generator(proxy, concurrency=8).answer(requests(300))) == 300
        told = next(one.at for one in proxy.seen if one.kind == "limited")
        # Those that were on their way before it was heard.
        assert sum(told < one.at < told + 1.5 for one in proxy.seen) <= 16
        assert sum(one.at >= told + 1.5 for one in proxy.seen) > 200
        assert proxy.kinds() == {"limited": 1, None: 300}


def test_date_is_understood_too() -> None:
    with FaultProxy(faults=first(1, "limited"), retry_after="3", as_date=True) as proxy:
        generator(proxy).answer([Request("Why?", 8)])
        # A date has no fractions of a second.
        assert proxy.seen[1].at - proxy.seen[0].at >= 2


def test_who_stands_in_a_line_that_moves_has_not_failed() -> None:
    proxy = FaultProxy(retry_after=None, delay=0.005)
    proxy.faults = lambda prompt, _: "limited" if prompt == "last" and len(proxy.answered) < 150 else None
    with proxy:
        made = generator(proxy, attempts=3, concurrency=8)
        *_, last = made.answer([*requests(7), Request("last", 8), *requests(200)])
        assert all(isinstance(answer, Answer) for answer in made.answer([Request("last", 8)]))
        assert proxy.kinds()["limited"] > 3
        assert isinstance(last, Answer)


def test_server_that_wants_to_be_left_alone_is() -> None:
    with FaultProxy(faults=first(1, "limited"), retry_after="3600") as proxy:
        with pytest.raises(KgprobeError, match="asks to wait for 3,600 seconds"):
            generator(proxy).answer([Request("Why?", 8)])
        assert len(proxy.seen) == 1


def test_no_more_requests_are_under_way_than_allowed() -> None:
    with FaultProxy(delay=0.05) as proxy:
        generator(proxy, concurrency=5).answer(requests(40))
        assert proxy.most == 5


def test_equal_requests_are_sent_once() -> None:
    asked = [Request("Why?", 8, 0.0, seed) for seed in (1, 2)] * 2 + [Request("Why?", 8, 0.7, seed) for seed in (1, 2)]
    with FaultProxy() as proxy:
        done: list[int] = []
        found = generator(proxy).answer(asked, done.append)
        assert sum(done) == len(found) == 6
        # Requests run in parallel: they may arrive in any order.
        sent = sorted((one.body["temperature"], one.body.get("seed")) for one in proxy.seen)
        assert sent == [(0.0, None), (0.7, 1), (0.7, 2)]


@pytest.mark.parametrize("concurrency", [pytest.param(1, marks=pytest.mark.slow), 16])
def test_budget_of_tokens_is_not_passed(concurrency: int, tmp_path: Path) -> None:
    # Each costs 3 tokens of the prompt and 5 of the answer.
    with FaultProxy(delay=0.005, faults=at_random(0.2, seed=3, kinds=["broken", "empty", "limited"])) as proxy:
        spending, cache = Spending(max_tokens=1000), AnswerCache(tmp_path / "answers.sqlite")
        made = generator(proxy, spending, cache, concurrency=concurrency)
        with pytest.raises(BudgetSpentError, match=r"of 1,000 tokens .* of 500 requests") as caught:
            made.answer(requests(500))
        paid = 8 * sum(one.kind in (None, "empty") for one in proxy.seen)
        assert spending.tokens == paid
        assert paid <= 1000
        # It stopped because the next could have passed it, not before.
        assert paid + 8 + 20 + 64 > 1000
        # What was answered is kept, so that going on pays for nothing twice.
        assert caught.value.answered == len(cache) == len(proxy.answered)
        before = set(proxy.answered)
        found = generator(proxy, None, cache).answer(requests(500))
        assert all(isinstance(answer, Answer) for answer in found)
        assert all(proxy.answered[prompt] == 1 for prompt in before)


@pytest.mark.parametrize("tokens", [0, 5])
def test_budget_too_small_for_one_request_is_an_error(tokens: int) -> None:
    with FaultProxy() as proxy, pytest.raises(KgprobeError, match="does not cover") as raised:
        generator(proxy, Spending(max_tokens=tokens)).answer(requests(3))
    # A budget of 0 is for cached answers only.
    assert isinstance(raised.value, BudgetSpentError) == (tokens == 0)
    assert ("does not cover a single request" in str(raised.value)) == (tokens > 0)


def test_server_of_empty_choices_is_not_asked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def misbehave(_request: web.Request, _body: dict) -> web.Response:
        return web.json_response({"choices": []})

    monkeypatch.setattr(module, "_MOST_SILENT", 10)
    with FaultProxy(misbehave=misbehave) as proxy:
        with pytest.raises(KgprobeError, match=r"answers none of 10 requests: .* it has no choices"):
            generator(proxy, attempts=1, concurrency=1).answer(requests(50))
        assert len(proxy.seen) == 10


def test_budget_in_money() -> None:
    with FaultProxy(delay=0.005) as proxy:
        with pytest.raises(KgprobeError, match="--input-price"):
            generator(proxy, Spending(max_cost=1.0))
        spending = Spending(max_cost=0.01)
        made = generator(proxy, spending, prices=Prices(prompt=10.0, completion=100.0), concurrency=16)
        with pytest.raises(BudgetSpentError, match=r"of 0\.01 in money"):
            made.answer(requests(500))
        cost = len(proxy.seen) * (3 * 10 + 5 * 100) / 1e6
        assert spending.cost == pytest.approx(cost)
        assert 0.01 - 0.002 < cost <= 0.01
        assert usage(made).cost == pytest.approx(cost)


def test_possibly_charged_requests_count_for_the_budget() -> None:
    with FaultProxy(faults=first(100, "cut")) as proxy:
        spending = Spending(max_tokens=300)
        with pytest.raises(BudgetSpentError):
            generator(proxy, spending, attempts=50).answer([Request("Why?", 30)])
        # A request can cost 4 + 64 + 30.
        assert len(proxy.seen) == 3
        assert spending.tokens == 3 * 98


SAYINGS = [
    (401, {"error": {"message": "Incorrect API key provided: top-secret", "code": "invalid_api_key"}}, "API_KEY"),
    (403, {"error": {"message": "Not for you, top-secret"}}, "API_KEY"),
    (404, {"error": {"message": "The model m does not exist", "code": "model_not_found"}}, "does not exist"),
    (402, {"error": {"message": "Insufficient balance"}}, "Insufficient balance"),
    (429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}, "quota"),
]


@pytest.mark.parametrize(("status", "body", "match"), SAYINGS)
def test_where_no_request_is_taken_it_ends_at_once(
    status: int, body: dict, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGPROBE_API_KEY", "top-secret")
    with FaultProxy(reject=lambda _: (status, body)) as proxy:
        with pytest.raises(KgprobeError, match=match) as caught:
            generator(proxy, concurrency=4).answer(requests(100))
        assert "top-secret" not in str(caught.value)
        assert len(proxy.seen) <= 4


def test_prompt_that_is_not_taken_is_reported_and_not_repeated() -> None:
    said = {"error": {"message": "This model's maximum context length is 10 tokens", "code": "context_length_exceeded"}}
    with FaultProxy(reject=lambda body: (400, said) if "long" in body["messages"][0]["content"] else None) as proxy:
        one, odd, other = generator(proxy).answer([Request("long", 8), Request("\ud800", 8), Request("short", 8)])
        assert isinstance(odd, Unanswered)
        assert isinstance(one, Unanswered)
        assert "maximum context length" in one.reason
        assert isinstance(other, Answer)
        assert len(proxy.seen) == 2


def test_parameter_that_a_model_does_not_take_is_left_out() -> None:
    def reject(body: dict) -> tuple[int, dict] | None:
        for name, code in (("max_tokens", "unsupported_parameter"), ("temperature", "unsupported_value")):
            if name in body:
                return 400, {"error": {"message": f"Unsupported: '{name}'", "code": code, "param": name}}
        if "seed" in body:
            return 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs"}]}
        return None

    with FaultProxy(reject=reject) as proxy:
        made = generator(proxy, concurrency=8, attempts=1)
        found = made.answer([Request(f"{number}", 8, 0.5, 3) for number in range(40)])
        assert all(isinstance(answer, Answer) for answer in found)
        assert made.parameters.left_out == {"max_tokens", "temperature", "seed"}
        assert proxy.seen[-1].body["max_completion_tokens"] == 8
        assert proxy.kinds()["rejected"] <= 3 * 8


@pytest.mark.parametrize("code", [None, "400", "invalid_request", 17])
@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens: Extra inputs are not permitted",
        "Unknown field `max_tokens`.",
    ],
)
def test_parameter_declined_in_any_wording_is_replaced(message: str, code: object) -> None:
    def reject(body: dict) -> tuple[int, dict] | None:
        return (400, {"error": {"message": message, "code": code}}) if "max_tokens" in body else None

    with FaultProxy(reject=reject) as proxy:
        made = generator(proxy, concurrency=4, attempts=1)
        assert all(isinstance(answer, Answer) for answer in made.answer(requests(8)))
        assert proxy.seen[-1].body["max_completion_tokens"] == 8
        assert usage(made).declined == {"max_tokens"}


@pytest.mark.parametrize(
    "message", ["`temperature` must be strictly positive", "temperature: greater than 0", "temperature > 0"]
)
def test_temperature_zero_declined_becomes_a_small_one(message: str) -> None:
    def reject(body: dict) -> tuple[int, dict] | None:
        return (422, {"error": message, "error_type": "validation"}) if body.get("temperature") == 0 else None

    with FaultProxy(reject=reject) as proxy:
        found = generator(proxy, concurrency=4, attempts=1).answer(requests(12))
        assert all(isinstance(answer, Answer) for answer in found)
        assert 0 < proxy.seen[-1].body["temperature"] < 0.1


def test_message_about_length_does_not_drop_the_limit() -> None:
    def reject(body: dict) -> tuple[int, dict] | None:
        limits = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
        return 400, {"error": {"message": f"{limits} is too large: 8. The context has 4 tokens."}}

    with FaultProxy(reject=reject) as proxy:
        (answer,) = generator(proxy, attempts=1).answer(requests(1))
        assert isinstance(answer, Unanswered)
        assert all({"max_tokens", "max_completion_tokens"} & one.body.keys() for one in proxy.seen)


def test_server_that_is_not_there() -> None:
    with FaultProxy() as proxy:
        pass
    with pytest.raises(KgprobeError, match=r"cannot be reached.*Is http://127\.0\.0\.1"):
        generator(proxy, attempts=2).answer(requests(100))


def test_api_keys_are_sent_to_their_own_server_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = {name: f"secret-{name}" for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID")}
    secrets |= {"KGPROBE_API_KEY_API_EXAMPLE_ORG": "secret-example", "OPENAI_CUSTOM_HEADERS": "X-Odd: secret-header"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    with FaultProxy() as proxy:
        generator(proxy).answer([Request("Why?", 8)])
        assert "secret" not in json.dumps(proxy.seen[-1].headers)
        assert os.environ["OPENAI_API_KEY"] == secrets["OPENAI_API_KEY"]

        monkeypatch.setenv("KGPROBE_API_KEY", "secret-here")
        path = tmp_path / "answers.sqlite"
        made = generator(proxy, cache=AnswerCache(path))
        found = made.answer([Request("Why?", 8)])
        assert proxy.seen[-1].headers["authorization"] == "Bearer secret-here"
        assert json.dumps(proxy.seen[-1].headers).count("secret") == 1
        told = f"{made.describe()} {made.name} {found} {made.spending.usage} {made!r} {caplog.text}"
        assert "secret" not in told
        kept = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
        assert b"You said" in kept
        assert b"secret" not in kept

        # OpenAI's own is sent where the environment says that OpenAI is.
        monkeypatch.setenv("OPENAI_BASE_URL", proxy.url)
        api_generator("openai:m").answer([Request("Why?", 8)])
        assert proxy.seen[-1].headers["authorization"] == "Bearer secret-OPENAI_API_KEY"


@pytest.mark.parametrize(("key", "expected"), [("secret-here", "The key is …"), ("none", "The key is none")])
@pytest.mark.parametrize("continuation", [False, True])
def test_answer_that_repeats_the_key_is_cleaned(
    key: str, expected: str, continuation: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KGPROBE_API_KEY", key)
    with FaultProxy(upstream=lambda _: f"The key is {key}", completes=True) as proxy:
        made = generator(proxy, cache=AnswerCache(tmp_path / "answers.sqlite"))
        (answer,) = made.answer([Request("Which key?", 8, continuation=continuation)])
        assert isinstance(answer, Answer)
        assert answer.text == expected
        kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert expected.encode() in kept
        assert b"secret" not in kept


def test_it_works_where_an_event_loop_is_running() -> None:
    async def notebook(made: ApiGenerator) -> list[Answer | Unanswered]:
        return made.answer(requests(3))

    with FaultProxy() as proxy:
        assert len(asyncio.run(notebook(generator(proxy)))) == 3


def test_what_comes_in_a_form_nobody_expects_is_a_fault() -> None:
    with FaultProxy(reject=lambda _: (200, {"error": {"message": "overloaded"}})) as proxy:
        (answer,) = generator(proxy, attempts=2).answer([Request("Why?", 8)])
        assert isinstance(answer, Unanswered)
        assert len(proxy.seen) == 2


def test_continuation_uses_completions_of_the_api(tmp_path: Path) -> None:
    with FaultProxy(upstream=lambda prompt: f" {prompt}\nand more\n", completes=True) as proxy:
        made = generator(proxy, cache=AnswerCache(tmp_path / "answers.sqlite"))
        asked = [Request("x", 5, continuation=True), Request("x", 5)]
        for _ in range(2):
            texts = [answer.text for answer in made.answer(asked) if isinstance(answer, Answer)]
            assert texts == ["x\nand more", "x\nand more"]
        # Each once: the one is not the other's answer, also on disk.
        assert len(proxy.seen) == 2
        (text,) = [one.body for one in proxy.seen if "prompt" in one.body]
        assert text == {"model": "m", "prompt": "x", "temperature": 0.0, "max_tokens": 5}


def test_api_without_completions_is_not_a_wrong_address() -> None:
    with FaultProxy() as proxy, pytest.raises(KgprobeError, match=r"HTTP 404.*completions.*has to offer.*chat alone"):
        generator(proxy).answer([Request("x", 5, continuation=True)])


def test_text_may_be_over_with_its_prompt() -> None:
    with FaultProxy(upstream=lambda _: "", completes=True) as proxy:
        (answer,) = generator(proxy).answer([Request("x", 5, continuation=True)])
        assert isinstance(answer, Answer)
        assert (answer.text, len(proxy.seen)) == ("", 1)
