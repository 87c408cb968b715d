"""An OpenAI-compatible server that lets go wrong what goes wrong in real networks.

    with FaultProxy(faults=at_random(0.1, seed=0)) as proxy:
        generator = api_generator(f"openai:demo@{proxy.url}")

It answers by itself, and at once: ``echo`` says the prompt again. What goes wrong is decided for
each prompt and the number of times it was sent before, so it does not depend on the order in which requests come.
"""

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate

from aiohttp import web

from tests.models.api.application_thread import ApplicationThread

# 429; 500; no answer at all; a connection cut in the middle; JSON cut in the middle; no text; a refusal by the API.
KINDS = ("limited", "broken", "hang", "cut", "malformed", "empty", "refusal")


def never(_prompt: str, _before: int) -> str | None:
    """Nothing goes wrong."""
    return None


def at_random(share: float, *, seed: int = 0, kinds: Sequence[str] = KINDS) -> Callable[[str, int], str | None]:
    """Return each attempt goes wrong with this probability, in one of these ways."""

    def fault(prompt: str, before: int) -> str | None:
        digest = hashlib.sha256(f"{seed} {before} {prompt}".encode("utf-8", "replace")).digest()
        if int.from_bytes(digest[:4], "big") >= share * 2**32:
            return None
        return kinds[int.from_bytes(digest[4:8], "big") % len(kinds)]

    return fault


def first(times: int, kind: str) -> Callable[[str, int], str | None]:
    """Return the first attempts of every prompt go wrong in one way."""
    return lambda _, before: kind if before < times else None


def echo(prompt: str) -> str:
    """Return what a proxy without an upstream says."""
    return f"You said: {prompt}"


@dataclass
class Seen:
    """A request that came."""

    prompt: str
    # What went wrong; None where it was answered.
    kind: str | None
    at: float
    headers: dict[str, str]
    body: dict
    # Whether the answer was handed to the network in full.
    delivered: bool = False


@dataclass
class FaultProxy:
    """A context; the server runs in a thread of its own, on a free port of this machine.

    Attributes:
        upstream: what answers a prompt.
        faults: what goes wrong with a prompt that was sent so many times before.
        delay: seconds that an answer takes.
        retry_after: what the header of a 429 says; a number of seconds is sent as a date where ``as_date``.
        hang: seconds until a hanging request ends after all.
        reject: (status, body) for prompts that are never taken; None takes it.
        misbehave: answers a prompt in place of the server, as no server should; None leaves it alone.
        completes: whether it also goes on with texts (``/completions``), by itself and without faults.
        seen: all requests, in the order they came.
        most: the most requests that were under way at once.
    """

    upstream: Callable[[str], str] = echo
    faults: Callable[[str, int], str | None] = never
    delay: float = 0.0
    retry_after: str | None = "0.05"
    as_date: bool = False
    hang: float = 30.0
    reject: Callable[[dict], tuple[int, dict] | None] = lambda _: None
    misbehave: Callable[[web.Request, dict], Awaitable[web.StreamResponse]] | None = None
    completes: bool = False
    seen: list[Seen] = field(default_factory=list)
    most: int = 0

    def __enter__(self) -> "FaultProxy":
        self._sent: Counter[str] = Counter()
        self._under_way = 0
        # Whoever does not wait any more is not under way any more.
        self._web = ApplicationThread(self._application, backlog=1024, handler_cancellation=True)
        self.url = self._web.url
        return self

    def __exit__(self, *_: object) -> None:
        self._web.stop()

    @property
    def answered(self) -> Counter[str]:
        """The number of complete answers of each prompt."""
        return Counter(one.prompt for one in self.seen if one.delivered)

    def kinds(self) -> Counter[str | None]:
        """Return what happened how often."""
        return Counter(one.kind for one in self.seen)

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=1 << 24)
        application.router.add_post("/v1/chat/completions", self._handle)
        if self.completes:
            application.router.add_post("/v1/completions", self._complete)
        return application

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        try:
            return await self._respond(request)
        finally:
            self._under_way -= 1

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = body["messages"][-1]["content"]
        headers = {name.lower(): value for name, value in request.headers.items()}
        rejected = self.reject(body)
        kind = self.faults(prompt, self._sent[prompt]) if rejected is None else "rejected"
        self._sent[prompt] += 1
        seen = Seen(prompt, kind, time.monotonic(), headers, body)
        self.seen.append(seen)
        if self.misbehave is not None:
            return await self.misbehave(request, await self._answer(body, prompt, "misbehaving"))
        if rejected is not None:
            return web.json_response(rejected[1], status=rejected[0])
        if kind == "limited":
            error = {"error": {"message": "Too many requests", "type": "requests", "code": "rate_limit_exceeded"}}
            return web.json_response(error, status=429, headers=self._wait_headers())
        if kind == "broken":
            return web.json_response({"error": {"message": "Something went wrong"}}, status=500)
        if kind == "hang":
            await asyncio.sleep(self.hang)
            return web.Response(status=504)
        answer = json.dumps(await self._answer(body, prompt, kind)).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(answer))})
        if kind == "malformed":
            half = answer[: len(answer) // 2]
            return web.Response(body=half, content_type="application/json")
        await response.prepare(request)
        if kind == "cut":
            await response.write(answer[: len(answer) // 2])
            assert request.transport is not None
            request.transport.abort()
            return response
        await response.write(answer)
        await response.write_eof()
        seen.delivered = kind is None
        return response

    async def _answer(self, body: dict, prompt: str, kind: str | None) -> dict:
        await asyncio.sleep(self.delay)
        text = self.upstream(prompt)
        message: dict[str, str | None] = {"role": "assistant", "content": text, "refusal": None}
        if kind == "empty":
            message["content"] = ""
        if kind == "refusal":
            message |= {"content": None, "refusal": "I cannot help with that."}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": len(prompt.split()),
                "completion_tokens": len(text.split()),
                "total_tokens": len(prompt.split()) + len(text.split()),
            },
        }

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(Seen(body["prompt"], None, time.monotonic(), headers, body, delivered=True))
        choice = {"index": 0, "text": self.upstream(body["prompt"]), "finish_reason": "length"}
        counts = {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
        found = {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": body["model"]}
        return web.json_response({**found, "choices": [choice], "usage": counts})

    def _wait_headers(self) -> dict[str, str]:
        if self.retry_after is None:
            return {}
        if self.as_date:
            return {"Retry-After": formatdate(time.time() + float(self.retry_after), usegmt=True)}
        return {"Retry-After": self.retry_after}
