"""Servers that misbehave: answers of any size, redirects to others, usage that cannot be."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kgprobe.base.errors import KgprobeError
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.connection import LARGEST
from kgprobe.models.api.generator import ApiGenerator
from kgprobe.models.api.spending import ApiOptions
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from tests.models.api.fault_proxy import FaultProxy
from tests.models.serving import api_generator

REQUEST = Request("Why is that so?", 8)


def ask(proxy: FaultProxy, cache: AnswerCache | None = None) -> tuple[Answer | Unanswered, ApiGenerator]:
    generator = api_generator(f"openai:m@{proxy.url}", api=ApiOptions(attempts=2), cache=cache)
    assert isinstance(generator, ApiGenerator)
    (answer,) = generator.answer([REQUEST])
    return answer, generator


@pytest.mark.parametrize("status", [200, 400])
def test_answer_is_read_up_to_a_bound(status: int) -> None:
    sent = []

    async def flood(request: web.Request, _: dict) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        sent.append(0)
        while sent[-1] < 200 * 2**20:
            await response.write(b" " * 2**18)
            sent[-1] += 2**18
        return response

    with FaultProxy(misbehave=flood) as proxy:
        answer, _ = ask(proxy)
    assert isinstance(answer, Unanswered)
    assert answer.reason == "the answer is larger than 4 MiB (2 attempts)"
    # What the network holds in between aside.
    assert max(sent) < 10 * LARGEST


def test_answer_as_large_as_allowed_is_read() -> None:
    async def padded(_: web.Request, answer: dict) -> web.StreamResponse:
        return web.Response(body=json.dumps(answer).encode().ljust(LARGEST), content_type="application/json")

    with FaultProxy(misbehave=padded) as proxy:
        assert isinstance(ask(proxy)[0], Answer)


def test_nothing_is_unpacked() -> None:
    async def bomb(request: web.Request, _: dict) -> web.StreamResponse:
        assert request.headers["Accept-Encoding"] == "identity"
        body = gzip.compress(b" " * 2**26, 1)
        return web.Response(body=body, headers={"Content-Encoding": "gzip"}, content_type="application/json")

    with FaultProxy(misbehave=bomb) as proxy:
        answer, _ = ask(proxy)
    assert isinstance(answer, Unanswered)
    assert answer.reason == "the answer is compressed (gzip), which was not asked for (2 attempts)"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_to_another_server_is_refused(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_API_KEY", "top-secret")
    with FaultProxy() as other:

        async def redirect(_: web.Request, __: dict) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": f"{other.url}/chat/completions"})

        with FaultProxy(misbehave=redirect) as proxy:
            with pytest.raises(KgprobeError, match=f"redirects to another server, .{other.url[:-3]}.*name it"):
                ask(proxy)
            assert len(proxy.seen) == 1
        assert other.seen == []


def test_redirect_within_the_server_is_followed() -> None:
    async def redirect(request: web.Request, answer: dict) -> web.StreamResponse:
        if "moved" in request.query:
            return web.json_response(answer)
        return web.Response(status=307, headers={"Location": f"{request.path}?moved=1"})

    with FaultProxy(misbehave=redirect) as proxy:
        assert isinstance(ask(proxy)[0], Answer)
        assert len(proxy.seen) == 2


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": -1},
        {"prompt_tokens": 10**15, "completion_tokens": 10**30},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": "many", "completion_tokens": None},
        {"prompt_tokens": 1.5, "completion_tokens": True},
        None,
        [1, 2],
        "none",
    ],
)
def test_usage_that_cannot_be_is_unknown(usage: Any, tmp_path: Path) -> None:
    async def claim(_: web.Request, answer: dict) -> web.StreamResponse:
        await asyncio.sleep(0)
        return web.json_response(answer | {"usage": usage})

    with FaultProxy(misbehave=claim) as proxy:
        answer, generator = ask(proxy, AnswerCache(tmp_path / "answers.sqlite"))
    assert isinstance(answer, Answer)
    # As where a server says nothing: a token is a byte at least.
    used = generator.spending.usage[generator.name]
    assert (used.prompt_tokens, used.completion_tokens) == (len(REQUEST.prompt), len(answer.text))
