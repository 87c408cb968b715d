"""Requests through a batch API: against a local server with its protocol."""

import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.models.api import batch_client, batches
from kgprobe.models.api.batch_client import PendingBatch, PendingBatches
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.generator import ApiGenerator
from kgprobe.models.api.spending import ApiOptions, BudgetSpentError, Prices, Spending
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.thinking import Thinking
from kgprobe.models.model import Models, load_model
from tests.models.api.batch_server import BatchServer, ServerBatch
from tests.models.api.fault_proxy import echo
from tests.models.serving import api_generator, start_asking


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_client, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(batches, "_FIRST_POLL", 0.001)
    monkeypatch.setattr(batches, "_LONGEST_POLL", 0.01)


@pytest.fixture
def cache(tmp_path: Path) -> AnswerCache:
    return AnswerCache(tmp_path / "answers.sqlite")


def generator(
    server: BatchServer, cache: AnswerCache, spending: Spending | None = None, **options: object
) -> ApiGenerator:
    given = ApiOptions(**{"batch_api": True, **options})
    return api_generator(f"openai:m@{server.url}", api=given, spending=spending, cache=cache)


def questions(count: int) -> list[Request]:
    return [Request(f"Question number {number}", 8) for number in range(count)]


def texts(answers: list[Answer | Unanswered]) -> list[str | None]:
    return [answer.text if isinstance(answer, Answer) else None for answer in answers]


@contextmanager
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Press Ctrl-C in the first wait for a batch."""

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(batches, "time", SimpleNamespace(**{**vars(time), "sleep": sleep}))
        with pytest.raises(KeyboardInterrupt):
            yield


def files(cache: AnswerCache) -> list[Path]:
    return list(cache.path.with_name("batches").glob("*.json"))


def test_batch_answers_equal_direct_answers(cache: AnswerCache, tmp_path: Path) -> None:
    asked = [*questions(7), Request("Separators \u2028 \x85", 8), Request("Text", 5, continuation=True)]
    with BatchServer() as server:
        done: list[int] = []
        in_batches = generator(server, cache)
        answers = in_batches.answer([*asked, asked[0]], done.append)
        direct = generator(server, AnswerCache(tmp_path / "direct.sqlite"), batch_api=False)
        assert answers == direct.answer([*asked, asked[0]])
        assert (sum(done), len(server.direct)) == (10, 9)
        # One batch of chats, one of texts; the wait was longer than its first state.
        assert [len(lines) for lines in server.prompts()] == [8, 1]
        assert {batch.endpoint for batch in server.batches.values()} == {"/v1/chat/completions", "/v1/completions"}
        # Both ways use the same cache, in both directions.
        for options in ({}, {"batch_api": False}):
            again = generator(server, cache, **options).answer(asked)
            assert all(isinstance(answer, Answer) and answer.cached for answer in again)
        assert (len(server.batches), len(server.direct)) == (2, 9)
        assert files(cache) == []


def test_mode_of_thinking_is_verified_by_a_direct_request(cache: AnswerCache) -> None:
    asked = [replace(request, thinking=Thinking.parse("off")) for request in questions(3)]
    with BatchServer() as server:
        answers = generator(server, cache).answer(asked)
        assert texts(answers) == [echo(request.prompt) for request in asked]
        assert [len(lines) for lines in server.prompts()] == [3]
        (trial,) = server.direct
        assert trial["chat_template_kwargs"]["enable_thinking"] is False


def test_requests_beyond_the_limits_make_several_batches(cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_REQUESTS", 4)
    long = Request("word " * 200, 8)
    with BatchServer() as server:
        generator(server, cache).answer(questions(10))
        assert [len(lines) for lines in server.prompts()] == [4, 4, 2]
        monkeypatch.setattr(batches, "_MOST_BYTES", 1300)
        generator(server, cache).answer([long, *(Request(f"{n}", 8) for n in range(3))])
        assert [len(lines) for lines in server.prompts()[3:]] == [1, 3]
        # All batches are submitted before the first is waited for.
        assert all(batch.polls <= server.polls + 1 for batch in server.batches.values())


def test_cost_of_a_batch_is_half_of_the_prices(cache: AnswerCache) -> None:
    with BatchServer() as server:
        spending = Spending(max_cost=1.0)
        asked = generator(server, cache, spending, prices=Prices(10.0, 100.0))
        asked.answer(questions(5))
        # Each prompt has 3 tokens, each answer 5.
        assert spending.cost == pytest.approx(5 * (3 * 10 + 5 * 100) / 1e6 / 2)
        usage = spending.usage[asked.name]
        assert (usage.requests, usage.answers, usage.batches, usage.tokens) == (5, 5, 1, 40)
        assert spending.under_way == 0


def test_budget_below_the_upper_bound_submits_nothing(cache: AnswerCache) -> None:
    # A prompt of 17 bytes and 64 tokens of a template, and 8 tokens of the answer.
    most = 5 * (81 * 10 + 8 * 100) / 1e6 / 2
    with BatchServer() as server:
        for cost in (most * 0.999, most * 1.001):
            spending = Spending(max_cost=cost)
            asked = generator(server, cache, spending, prices=Prices(10.0, 100.0))
            if cost < most:
                with pytest.raises(BudgetSpentError, match=r"batch of 5 requests .* up to 445 tokens"):
                    asked.answer(questions(5))
                assert (len(server.uploads), spending.under_way) == (0, 0)
            else:
                assert None not in texts(asked.answer(questions(5)))
        assert len(server.batches) == 1


def test_requests_of_an_expired_batch_are_submitted_again(cache: AnswerCache) -> None:
    with BatchServer(end=lambda number, lines: ("expired", 3) if number == 0 else ("completed", len(lines))) as server:
        asked = generator(server, cache)
        answers = asked.answer(questions(8))
        assert texts(answers) == [f"You said: Question number {number}" for number in range(8)]
        assert [len(lines) for lines in server.prompts()] == [8, 5]
        assert set(server.answered.values()) == {1}
        usage = asked.spending.usage[asked.name]
        assert (usage.requests, usage.retries, usage.tokens) == (13, 5, 64)


def test_batch_that_always_expires_is_given_up(cache: AnswerCache) -> None:
    with BatchServer(end=lambda *_: ("expired", 0)) as server:
        (answer,) = generator(server, cache).answer(questions(1))
        assert isinstance(answer, Unanswered)
        assert "batch_expired" in answer.reason
        assert "3 batches" in answer.reason
        assert len(server.batches) == 3


def test_error_lines_are_repeated_or_reported(cache: AnswerCache) -> None:
    def error(body: dict, before: int) -> tuple[int, dict] | None:
        number = int(body["messages"][0]["content"].split()[-1])
        if number == 1 and before == 0:
            return 500, {"error": {"message": "Something went wrong"}}
        if number == 2:
            return 400, {"error": {"message": "The prompt is too long", "code": "context_length_exceeded"}}
        if number == 3:
            return 429, {"error": {"message": "Too many requests"}}
        return (200, {"choices": []}) if number == 4 and before == 0 else None

    with BatchServer(error=error) as server:
        asked = generator(server, cache)
        answers = asked.answer(questions(6))
        reasons = [answer.reason for answer in answers if isinstance(answer, Unanswered)]
        assert [isinstance(answer, Answer) for answer in answers] == [True, True, False, False, True, True]
        assert "The prompt is too long" in reasons[0]
        assert "Too many requests (3 batches)" in reasons[1]
        assert [len(lines) for lines in server.prompts()] == [6, 3, 1]
        # An unreadable answer may be charged: its maximum counts.
        assert asked.spending.usage[asked.name].tokens == 4 * 8 + (81 + 8)


class DeepAnswers(BatchServer):
    """A server whose first batch has answers of deep nesting, as bodies and as lines."""

    def _compute(self, batch: ServerBatch) -> None:
        super()._compute(batch)
        deep = b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        if batch.id.endswith("_0"):
            name = f"output-{batch.id}"
            others = self.uploads[name].splitlines()[1:]
            bodies = [line.replace(b'"body": {', b'"body": ' + deep + b', "x": {') for line in others]
            self.uploads[name] = b"\n".join([b"[" * 100_000, *bodies])


def test_answers_of_deep_nesting_are_asked_again(cache: AnswerCache) -> None:
    with DeepAnswers() as server:
        assert None not in texts(generator(server, cache).answer(questions(3)))
        assert [len(lines) for lines in server.prompts()] == [3, 3]


@pytest.mark.parametrize(
    ("under_way", "end", "message"),
    [
        ("queued", "completed", "the unknown status 'queued', and no answers yet. Ctrl-C stops waiting"),
        ("IN_PROGRESS", "succeeded", "the unknown status 'succeeded', and files: its answers are read"),
    ],
)
def test_unknown_status_of_a_batch_is_reported_once(
    under_way: str, end: str, message: str, cache: AnswerCache, capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(polls=4, under_way=under_way, end=lambda _, lines: (end, len(lines))) as server:
        assert None not in texts(generator(server, cache).answer(questions(2)))
    messages = capsys.readouterr().err
    assert (messages.count("unknown status"), messages.count(message)) == (1, 1)


def test_empty_answers_are_asked_again(cache: AnswerCache) -> None:
    given = {"Question number 0": ["", "", "late"], "Question number 1": ["", "", ""]}
    with BatchServer(answer=lambda prompt: given[prompt].pop(0)) as server:
        assert texts(generator(server, cache).answer(questions(2))) == ["late", None]


def test_declined_parameters_are_dropped_in_the_next_batch(cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    # The second batch is read when the parameter is dropped already.
    monkeypatch.setattr(batches, "MOST_REQUESTS", 2)

    def error(body: dict, _: int) -> tuple[int, dict] | None:
        for name, code in (("max_tokens", "unsupported_parameter"), ("temperature", "unsupported_value")):
            if name in body:
                return 400, {"error": {"message": f"Unsupported: '{name}'", "code": code, "param": name}}
        return None

    with BatchServer(error=error) as server:
        assert None not in texts(generator(server, cache).answer(questions(3)))
        assert [len(lines) for lines in server.prompts()] == [2, 1, 2, 1, 2, 1]
        last = list(server.batches.values())[-1].lines[0]["body"]
        assert set(last) == {"model", "messages", "max_completion_tokens"}


def test_failed_batch_gives_the_reason_of_the_server(cache: AnswerCache) -> None:
    fault = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached for m"}
    with BatchServer(end=lambda *_: ("failed", 0), errors=[fault]) as server:
        with pytest.raises(KgprobeError, match=r"batch_0 .* failed: Enqueued token limit.*`batch_size`"):
            generator(server, cache).answer(questions(2))
        # It is not waited for again.
        assert files(cache) == []


def test_batch_beyond_the_limit_of_tokens_waits_for_the_others(
    cache: AnswerCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_REQUESTS", 3)
    fault = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached for m"}

    def end(number: int, lines: Sequence[object]) -> tuple[str, int]:
        return ("failed", 0) if number == 0 else ("completed", len(lines))

    with BatchServer(end=end, errors=[fault]) as server:
        assert None not in texts(generator(server, cache).answer(questions(5)))
        assert [len(lines) for lines in server.prompts()] == [3, 2, 3]


@pytest.mark.parametrize("id_", ["", "two words", "batch-top-secret-key"])
def test_invalid_ids_of_a_server_are_refused(id_: str, cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_API_KEY", "top-secret-key")
    with BatchServer(fail=lambda *_: (200, {"id": id_, "status": "validating"})) as server:
        with pytest.raises(KgprobeError, match="returned an invalid id") as caught:
            generator(server, cache).answer(questions(1))
        assert "secret" not in str(caught.value)
        assert all(b"secret" not in file.read_bytes() for file in files(cache))


def test_cancelled_batch_keeps_its_answers(cache: AnswerCache) -> None:
    with BatchServer(
        end=lambda number, lines: ("cancelled", 2) if number == 0 else ("completed", len(lines))
    ) as server:
        with pytest.raises(KgprobeError, match=r"cancelled at the server; 2 of 5 answers are kept"):
            generator(server, cache).answer(questions(5))
        assert None not in texts(generator(server, cache).answer(questions(5)))
        assert [len(lines) for lines in server.prompts()] == [5, 3]


@pytest.mark.parametrize("status", [401, 404])
def test_batch_in_which_all_requests_are_declined_stops(status: int, cache: AnswerCache) -> None:
    with BatchServer(error=lambda *_: (status, {"error": {"message": "The model m does not exist"}})) as server:
        with pytest.raises(KgprobeError, match=r"declines all requests: HTTP 40\d: The model m does not exist"):
            generator(server, cache).answer(questions(2))
        assert len(server.batches) == 1
        assert files(cache) == []


@pytest.mark.parametrize("path", ["/v1/files", "/v1/batches"])
def test_server_without_a_batch_api_is_named(path: str, cache: AnswerCache) -> None:
    missing = {"error": {"message": "Not Found"}}
    with BatchServer(fail=lambda _, at, __: (404, missing) if at == path else None) as server:
        with pytest.raises(KgprobeError, match=r"no batch API .* Leave out `batch_api`"):
            generator(server, cache).answer(questions(2))
        assert files(cache) == []


def test_faults_of_the_protocol_are_repeated(cache: AnswerCache) -> None:
    broken = {"error": {"message": "Try again"}}
    with BatchServer(fail=lambda _, __, before: (503, broken) if before == 0 else None) as server:
        assert None not in texts(generator(server, cache).answer(questions(3)))
        assert len(server.batches) == 1


@pytest.mark.slow
def test_batch_of_a_lost_response_is_found(cache: AnswerCache) -> None:
    with BatchServer() as server:
        for number in range(5):
            generator(server, cache).answer([Request(f"Other {number}", 8)])
        server.hold = "create"
        asked = generator(server, cache, timeout=2)
        assert None not in texts(asked.answer(questions(3)))
        assert (len(server.batches), asked.spending.usage[asked.name].requests) == (6, 3)


@pytest.mark.parametrize("tells_more", [True, False])
def test_batch_without_an_id_is_found_among_newer_ones(
    tells_more: bool, cache: AnswerCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_client, "_PAGE", 2)
    with BatchServer(tells_more=tells_more) as server:
        with interrupted(monkeypatch):
            generator(server, cache).answer(questions(3))
        (file,) = files(cache)
        file.write_text(json.dumps(json.loads(file.read_bytes()) | {"id": None}), encoding="utf-8")
        # The newest come first: it is on the third page.
        for number in range(5):
            generator(server, cache).answer([Request(f"Other {number}", 8)])
        assert None not in texts(generator(server, cache).answer(questions(3)))
        assert len(server.batches) == 6


@pytest.mark.parametrize(
    ("hold", "held", "expected"),
    [
        # Killed before the response of the upload: the file is not a batch; a new one is submitted.
        ("upload", 0, 1),
        # Killed between the creation and its response.
        ("create", 1, 1),
        # Killed while waiting.
        (None, 1, 1),
    ],
)
@pytest.mark.representatives(2)
def test_killed_program_finds_its_batch_again(
    hold: str | None, held: int, expected: int, cache: AnswerCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGPROBE_API_KEY", "top-secret-key")
    with BatchServer(hold=hold, polls=10**9) as server:
        child = start_asking(server.url, cache.path, 20, batch_api=True)
        try:
            if hold is None:
                assert child.stderr is not None
                assert "batch batch_0 of 20 requests submitted" in child.stderr.readline()
            else:
                assert server.held.wait(300)
        finally:
            child.send_signal(signal.SIGKILL)
            child.communicate()
        server.hold, server.polls = None, 2
        server.released.set()
        assert len(server.batches) == held
        (file,) = files(cache)
        assert json.loads(file.read_bytes())["id"] == (None if hold else "batch_0")
        assert b"secret" not in file.read_bytes()
        asked = generator(server, cache)
        assert texts(asked.answer(questions(20))) == [f"You said: Question number {n}" for n in range(20)]
        assert len(server.batches) == expected
        assert set(server.answered.values()) == {1}
        # The answers of the earlier batch are paid now.
        usage = asked.spending.usage[asked.name]
        assert (usage.tokens, usage.batches, usage.requests) == (160, 1, 0 if held else 20)
        assert files(cache) == []
        assert server.authorizations == {"Bearer top-secret-key"}


def test_batch_with_further_requests_is_kept_for_them(cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    with BatchServer() as server:
        with interrupted(monkeypatch):
            generator(server, cache).answer(questions(6))
        # Fewer facts, then other ones, then all: the batch of the first call has six of them.
        generator(server, cache).answer(questions(2))
        assert len(files(cache)) == 1
        assert None not in texts(generator(server, cache).answer(questions(8)))
        assert [len(lines) for lines in server.prompts()] == [6, 2]
        assert set(server.answered.values()) == {1}
        assert files(cache) == []


def test_refreshing_batch_is_kept_for_further_requests(cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    with BatchServer(answer=lambda _: f"Answer {len(server.batches)}") as server:
        generator(server, cache).answer(questions(4))
        with interrupted(monkeypatch):
            generator(server, cache, refresh=True).answer(questions(6))
        # Two of its requests have no answer, four an old one.
        assert texts(generator(server, cache).answer(questions(6)[4:])) == ["Answer 2"] * 2
        assert len(files(cache)) == 1
        assert texts(generator(server, cache, refresh=True).answer(questions(6)[:4])) == ["Answer 2"] * 4
        assert len(server.batches) == 2
        assert files(cache) == []


@pytest.mark.parametrize(("refresh", "submitted"), [(False, 1), (True, 2)])
def test_batch_uses_answers_of_another_program(
    refresh: bool, submitted: int, cache: AnswerCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The other program ends between this one's look into the cache and its search for batches.
    search = PendingBatches.with_any

    def first(*_: Any) -> list[PendingBatch]:
        monkeypatch.setattr(PendingBatches, "with_any", search)
        other.answer(questions(3))
        return []

    with BatchServer() as server:
        other = generator(server, cache)
        monkeypatch.setattr(PendingBatches, "submitting", nullcontext)
        monkeypatch.setattr(PendingBatches, "with_any", first)
        asked = generator(server, cache, refresh=refresh)
        assert None not in texts(asked.answer(questions(3)))
        assert len(server.batches) == submitted
        assert asked.spending.usage[asked.name].cached == (0 if refresh else 3)


def test_batch_that_the_server_forgot_is_not_submitted_again(
    cache: AnswerCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BatchServer() as server:
        with interrupted(monkeypatch):
            generator(server, cache).answer(questions(3))
        server.batches.clear()
        with pytest.raises(KgprobeError, match=r"does not know batch batch_0 .*another key\? Delete .*json"):
            generator(server, cache).answer(questions(3))
        (file,) = files(cache)
        file.unlink()
        assert None not in texts(generator(server, cache).answer(questions(3)))


def test_key_in_an_error_of_the_server_is_removed(cache: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_API_KEY", "top-secret-key")
    fault = {"code": "invalid", "message": "Bad key top-secret-key"}
    failing = BatchServer(end=lambda *_: ("failed", 0), errors=[fault])
    with failing as server, pytest.raises(KgprobeError, match="Bad key …"):
        generator(server, cache).answer(questions(2))


def test_scores_with_a_batch_api_are_an_error(cache: AnswerCache) -> None:
    model = load_model("openai:m@http://127.0.0.1:9/v1", api=ApiOptions(batch_api=True), cache=cache)
    assert not model.scores
    with pytest.raises(ArgumentError, match="returns texts only"):
        model.scorer()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ends=some.lists(some.tuples(some.sampled_from(["completed", "expired"]), some.integers(0, 6)), max_size=2),
    failing=some.sets(some.integers(0, 5)),
    most=some.integers(1, 6),
)
def test_every_answer_is_paid_once(
    ends: list[tuple[str, int]],
    failing: set[int],
    most: int,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Requests are answered once each, whatever fails or expires in the first batches."""

    def error(body: dict, before: int) -> tuple[int, dict] | None:
        number = int(body["messages"][0]["content"].split()[-1])
        return (500, {"error": {"message": "broken"}}) if number in failing and before == 0 else None

    def end(number: int, _: object) -> tuple[str, int]:
        return ends[number] if number < len(ends) else ("completed", 10)

    monkeypatch.setattr(batches, "MOST_REQUESTS", most)
    cache = AnswerCache(tmp_path_factory.mktemp("cache") / "answers.sqlite")
    with BatchServer(error=error, end=end, polls=0) as server:
        asked = generator(server, cache)
        answers = asked.answer(questions(6))
        answers = asked.answer(questions(6))
        assert None not in texts(answers)
        assert set(server.answered.values()) == {1}
        assert asked.spending.usage[asked.name].tokens == 6 * 8
        assert PendingBatches(cache.path.with_name("batches")).with_any({""}) == []
        assert files(cache) == []


@pytest.mark.parametrize("batch_api", [False, True])
def test_facts_are_asked_together_for_a_batch_api(batch_api: bool, cache: AnswerCache) -> None:
    options, spec = ApiOptions(batch_api=batch_api), "openai:m@http://127.0.0.1:9/v1"
    most = 50_000 if batch_api else None
    own = load_model(spec, api=options, cache=cache)
    assert Models().asked_together(own) == most
    with Models(api=options, cache=cache) as models:
        # Also for a model on this machine: its grader can be behind the API.
        assert [models.asked_together(models.open(name)) for name in (spec, "demo")] == [most, most]


def test_pending_batch_that_is_old_or_damaged_is_not_used(tmp_path: Path) -> None:
    pending = PendingBatches(tmp_path / "batches")
    late, early, old = (
        PendingBatch(token, "http://127.0.0.1:9/v1", "m", ["a", token], time.time() - age, id=f"batch_{token}")
        for token, age in (("late", 0), ("early", 60), ("old", 31 * 24 * 3600))
    )
    for batch in (late, early, old):
        pending.put(batch)
    assert pending.with_any({"early"}) == [early]
    assert pending.with_any({"a"}) == [early, late]
    assert not pending.path(old).exists()
    assert pending.path(late).stat().st_mode & 0o777 == 0o600
    pending.path(late).write_bytes(b'{"token": ')
    with pytest.raises(KgprobeError, match=r"late\.json is damaged.*Delete it"):
        pending.with_any({"a"})
