"""A web application that runs in a thread of its own, as long as a test needs it."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from aiohttp import web


class ApplicationThread:
    """Serves on a port that is free.

    Attributes:
        url: of its API, for specs: ``openai:NAME@URL``.
    """

    def __init__(self, make: Callable[[], web.Application], backlog: int = 128, **runner: Any) -> None:
        """Returns when it serves.

        Args:
            make: called in the thread.
            backlog: how many connections may wait to be taken.
            runner: as :class:`aiohttp.web.AppRunner` takes it.
        """
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(make, backlog, runner), daemon=True)
        self._thread.start()
        assert self._started.wait(300)

    def stop(self) -> None:
        """End it; what is under way is cancelled."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(300)

    def _serve(self, make: Callable[[], web.Application], backlog: int, runner: dict[str, Any]) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._run(make, backlog, runner))
        self._loop.close()

    async def _run(self, make: Callable[[], web.Application], backlog: int, options: dict[str, Any]) -> None:
        self._ended = asyncio.Event()
        runner = web.AppRunner(make(), shutdown_timeout=0.1, **options)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=backlog).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        self._started.set()
        await self._ended.wait()
        await runner.cleanup()
