"""A local server with OpenAI's protocol for files and batches; it also answers direct requests, in the same way.

    with BatchServer() as server:
        generator = api_generator(f"openai:m@{server.url}", api=ApiOptions(batch_api=True), cache=cache)

A batch is ``validating`` at first, ``in_progress`` after that, and ends after as many requests for its state as
``polls`` says. Its output is in the reverse order of its requests.
"""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.models.api.application_thread import ApplicationThread
from tests.models.api.fault_proxy import echo


@dataclass
class ServerBatch:
    """A batch at the server; ``lines`` are its requests."""

    id: str
    file: str
    endpoint: str
    metadata: dict[str, str]
    lines: list[dict[str, Any]]
    created: int
    polls: int = 0
    ended: bool = False


def completed(_number: int, lines: Sequence[dict[str, Any]]) -> tuple[str, int]:
    """Return the end of a batch: its status, and the number of its first requests that are answered."""
    return "completed", len(lines)


def taken(_body: dict[str, Any], _before: int) -> tuple[int, dict[str, Any]] | None:
    """Return an error for a request that was answered so often before: its status and body; None for an answer."""
    return None


@dataclass
class BatchServer:
    """A context; the server runs in a thread on a free port.

    Attributes:
        answer: text for a prompt.
        end: end of a batch, by its number from 0.
        error: error line of a request.
        polls: requests for its state until a batch ends; 10**9 for never.
        under_way: status of a batch until it ends, after its first.
        fail: (status, body) of a response by method and path, with the number of earlier ones; None for the usual one.
        hold: ``upload`` or ``create``: set ``held``, and wait for ``released`` before that response.
        listed: number of batches in a page.
        tells_more: False if a page does not tell whether there are more.
        uploads, batches: all of them, by id.
        direct: bodies of direct requests.
        answered: number of answers by prompt, in batches and direct.
        authorizations: distinct headers of requests.
    """

    answer: Callable[[str], str] = echo
    end: Callable[[int, Sequence[dict[str, Any]]], tuple[str, int]] = completed
    error: Callable[[dict[str, Any], int], tuple[int, dict[str, Any]] | None] = taken
    polls: int = 2
    under_way: str = "in_progress"
    fail: Callable[[str, str, int], tuple[int, dict[str, Any]] | None] = lambda *_: None
    hold: str | None = None
    listed: int = 2
    tells_more: bool = True
    errors: list[dict[str, Any]] = field(default_factory=list)
    uploads: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, ServerBatch] = field(default_factory=dict)
    direct: list[dict[str, Any]] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    authorizations: set[str | None] = field(default_factory=set)
    held: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "BatchServer":
        self._calls: Counter[tuple[str, str]] = Counter()
        self._tried: Counter[str] = Counter()
        # Final status by the id of the batch.
        self._ends: dict[str, str] = {}
        self._web = ApplicationThread(self._application)
        self.url = self._web.url
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._web.stop()

    def prompts(self) -> list[list[str]]:
        """Return the prompts of each batch."""
        return [[_prompt(line["body"]) for line in batch.lines] for batch in self.batches.values()]

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=1 << 28, middlewares=[self._check])
        routes = application.router
        for path in ("chat/completions", "completions"):
            routes.add_post(f"/v1/{path}", self._ask)
        routes.add_post("/v1/files", self._upload)
        routes.add_get("/v1/files/{id}/content", self._content)
        routes.add_post("/v1/batches", self._create)
        routes.add_get("/v1/batches", self._list)
        routes.add_get("/v1/batches/{id}", self._retrieve)
        return application

    @web.middleware
    async def _check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.authorizations.add(request.headers.get("Authorization"))
        call = (request.method, request.path)
        failure = self.fail(*call, self._calls[call])
        self._calls[call] += 1
        if failure is not None:
            return web.json_response(failure[1], status=failure[0])
        response: web.StreamResponse = await handler(request)
        return response

    async def _ask(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.direct.append(body)
        status, answer = self._answer(body)
        return web.json_response(answer, status=status)

    def _answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        prompt = _prompt(body)
        error = self.error(body, self._tried[prompt])
        self._tried[prompt] += 1
        if error is not None:
            return error
        self.answered[prompt] += 1
        text = self.answer(prompt)
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        if "messages" in body:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        return 200, {"id": "1", "object": "completion", "model": body["model"], "choices": [choice], "usage": usage}

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "batch"
        file = form["file"]
        assert isinstance(file, web.FileField)
        name = f"file-{len(self.uploads)}"
        self.uploads[name] = file.file.read()
        await self._wait("upload")
        return web.json_response({"id": name, "object": "file", "purpose": "batch", "filename": file.filename})

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert body["completion_window"] == "24h"
        lines = [json.loads(line) for line in self.uploads[body["input_file_id"]].splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        assert {(line["method"], line["url"]) for line in lines} == {("POST", body["endpoint"])}
        batch = ServerBatch(
            f"batch_{len(self.batches)}",
            body["input_file_id"],
            body["endpoint"],
            body["metadata"],
            lines,
            int(time.time()),
        )
        self.batches[batch.id] = batch
        await self._wait("create")
        return web.json_response(self._state(batch))

    async def _list(self, request: web.Request) -> web.Response:
        batches = list(reversed(self.batches.values()))
        ids = [batch.id for batch in batches]
        start = ids.index(request.query["after"]) + 1 if "after" in request.query else 0
        page = batches[start : start + self.listed]
        data = [self._state(batch) for batch in page]
        more = {"has_more": start + self.listed < len(batches)} if self.tells_more else {}
        return web.json_response({"object": "list", "data": data, **more})

    async def _retrieve(self, request: web.Request) -> web.Response:
        batch = self.batches.get(request.match_info["id"])
        if batch is None:
            return web.json_response({"error": {"message": "No such batch"}}, status=404)
        batch.polls += 1
        if batch.polls > self.polls and not batch.ended:
            self._compute(batch)
        return web.json_response(self._state(batch))

    def _compute(self, batch: ServerBatch) -> None:
        """End a batch, with its files."""
        batch.ended = True
        number = int(batch.id.rpartition("_")[2])
        status, answered = self.end(number, batch.lines)
        self._ends[batch.id] = status
        output: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        for place, line in enumerate(batch.lines):
            own = {"id": f"batch_req_{place}", "custom_id": line["custom_id"]}
            if place >= answered:
                if status == "expired":
                    fault = {"code": "batch_expired", "message": "This request could not be executed in time."}
                    errors.append(own | {"response": None, "error": fault})
                continue
            code, body = self._answer(line["body"])
            response = {"status_code": code, "request_id": "1", "body": body}
            (output if code == 200 else errors).append(own | {"response": response, "error": None})
        for name, lines in (("output", output), ("error", errors)):
            if lines:
                # A raw line separator of Unicode is no end of a line.
                text = "\n".join(json.dumps(line, ensure_ascii=False) for line in reversed(lines))
                self.uploads[f"{name}-{batch.id}"] = text.encode()

    def _state(self, batch: ServerBatch) -> dict[str, Any]:
        status = "validating" if batch.polls <= 1 else self.under_way
        if batch.ended:
            status = self._ends[batch.id]
        files = {f"{name}_file_id": f"{name}-{batch.id}" for name in ("output", "error")}
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.endpoint,
            "input_file_id": batch.file,
            "completion_window": "24h",
            "status": status,
            "created_at": batch.created,
            "metadata": batch.metadata,
            "errors": {"object": "list", "data": self.errors} if status == "failed" else None,
            "request_counts": {"total": len(batch.lines), "completed": 0, "failed": 0},
            **{name: file if file in self.uploads else None for name, file in files.items()},
        }

    async def _content(self, request: web.Request) -> web.Response:
        content = self.uploads.get(request.match_info["id"])
        if content is None:
            return web.json_response({"error": {"message": "No such file"}}, status=404)
        return web.Response(body=content, content_type="application/octet-stream")

    async def _wait(self, step: str) -> None:
        if self.hold == step:
            self.held.set()
            await asyncio.to_thread(self.released.wait, 60)


def _prompt(body: dict[str, Any]) -> str:
    prompt: str = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
    return prompt
