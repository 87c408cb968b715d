"""Time of many questions to an API with limited concurrency, relative to the ideal.

The server is a separate process and answers every question after the same latency. The ideal is questions / concurrency
times the latency. Compared with the official client with a semaphore, without retries, budget or stored answers.
"""

import asyncio
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import click
import openai
from aiohttp import web

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.cli.options import json_option, seed_option
from kgprobe.models.api.address import find_address
from kgprobe.models.api.cache import AnswerCache
from kgprobe.models.api.generator import ApiGenerator
from kgprobe.models.api.requests import Asker
from kgprobe.models.api.spending import ApiOptions, Spending
from kgprobe.models.generating.generator import Answer, Request

MAX_TOKENS = 32


@contextmanager
def server(latency: float) -> Iterator[str]:
    """Run a server in a separate process that answers after this many seconds; yield its URL."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there, latency), daemon=True)
    process.start()
    # The process has this end now; close ours, so that a dead process is noticed.
    there.close()
    try:
        yield f"http://127.0.0.1:{here.recv()}/v1"
    finally:
        process.terminate()
        process.join()


def _serve(connection: Connection, latency: float) -> None:
    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        await asyncio.sleep(latency)
        message = {"role": "assistant", "content": f"You said: {body['messages'][0]['content']}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        kind = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return web.json_response(kind | {"choices": [choice], "usage": usage})

    async def run() -> None:
        application = web.Application()
        application.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        connection.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


def ask(url: str, requests: list[Request], concurrency: int, path: Path | None) -> tuple[float, float]:
    """Ask all questions, with or without stored answers.

    Returns:
        wall-clock seconds and processor seconds of this process.
    """
    cache = AnswerCache(path) if path else None
    spending = Spending(max_tokens=10**9)
    generator = ApiGenerator(
        Asker(find_address(f"openai:model@{url}"), ApiOptions(concurrency), spending=spending, cache=cache)
    )
    clock, processor = time.perf_counter(), time.process_time()
    answers = generator.answer(requests)
    seconds = time.perf_counter() - clock, time.process_time() - processor
    expected = [f"You said: {request.prompt}" for request in requests]
    if [answer.text for answer in answers if isinstance(answer, Answer)] != expected:
        raise RuntimeError("not every question got its answer")
    return seconds


def ask_bare(url: str, requests: list[Request], concurrency: int) -> tuple[float, float]:
    """Ask all questions by the official client; return the same."""

    async def run() -> None:
        turn = asyncio.Semaphore(concurrency)
        async with openai.AsyncOpenAI(api_key="none", base_url=url) as client:

            async def one(request: Request) -> None:
                async with turn:
                    await client.chat.completions.create(
                        model="model",
                        messages=[{"role": "user", "content": request.prompt}],
                        max_tokens=request.max_tokens,
                    )

            await asyncio.gather(*map(one, requests))

    clock, processor = time.perf_counter(), time.process_time()
    asyncio.run(run())
    return time.perf_counter() - clock, time.process_time() - processor


@click.command(context_settings={"max_content_width": 100})
@click.option("--questions", "count", default=1000, show_default=True, help="Number of questions.")
@click.option("--concurrency", default=32, show_default=True, help="Requests in parallel.")
@click.option("--latency", default=200.0, show_default=True, help="Latency of the server in milliseconds.")
@click.option("--repeat", default=3, show_default=True, help="Repetitions; medians are shown.")
@seed_option
@json_option
def main(count: int, concurrency: int, latency: float, repeat: int, seed: int, as_json: bool) -> None:
    """Measure many questions to an API relative to the ideal time."""
    ideal = count / concurrency * latency / 1000
    requests = [Request(f"Is {number} a number? Answer with Yes or No.", MAX_TOKENS) for number in range(count)]
    case = f"{count:,} questions, {concurrency} at once, {latency:g} ms each"
    with tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary, server(latency / 1000) as url:
        ours, theirs, kept, again = [], [], [], []
        for turn in range(1, repeat + 1):
            print(f"asking, turn {turn} of {repeat}", file=sys.stderr)
            path = Path(temporary) / f"{turn}.sqlite"
            theirs.append(ask_bare(url, requests, concurrency))
            ours.append(ask(url, requests, concurrency, None))
            kept.append(ask(url, requests, concurrency, path))
            again.append(ask(url, requests, concurrency, path))
    rows = []
    peer, peer_processor = (statistics.median(values) for values in zip(*theirs, strict=True))
    for name, measured in (("nothing kept", ours), ("answers kept on disk", kept)):
        seconds, processor = (statistics.median(values) for values in zip(*measured, strict=True))
        label = f"{case}, {name}"
        rows += [
            Row(label, "time", seconds, "s", "the official client", peer, less_is_better=True),
            Row(label, "of the ideal time", seconds / ideal, "times", "the official client", peer / ideal, True),
            Row(
                label,
                "processor time",
                1000 * processor / count,
                "ms a question",
                "the official client",
                1000 * peer_processor / count,
                less_is_better=True,
            ),
        ]
    rows.append(Row(case, "asked again, from disk", statistics.median(seconds for seconds, _ in again), "s"))
    show(Report("requests", rows, seed, versions_of("openai", "aiohttp")), as_json=as_json)


if __name__ == "__main__":
    main()
