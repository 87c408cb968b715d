"""A real web browser for tests of pages: headless Chromium, where one is installed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Milliseconds; a loaded machine needs much longer than an idle one.
WAIT = 300_000
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium_path() -> str:
    """Return where Chromium is; skips the test where it is not."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip(f"needs a web browser: none of {', '.join(_NAMES)} is on the PATH")
    return found


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Provide a browser that has just been started."""
    path = chromium_path()
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    # Root cannot have the sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@dataclass
class Seen:
    """A visit to a page, with its messages and requests.

    Attributes:
        page: as it stands in the browser.
        complaints: errors and warnings of its console, and of its scripts.
        loaded: addresses that it asked for, beside its own.
    """

    page: "Page"
    complaints: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)


@contextmanager
def looking_at(browser: "Browser", path: Path, width: int = 1200, scheme: str = "light") -> Iterator[Seen]:
    """Provide a page of a file, once its script has done its work."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
    )
    context.set_default_timeout(WAIT)
    page = context.new_page()
    seen = Seen(page)
    page.on("console", lambda message: seen.complaints.append(message.text))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("request", lambda request: seen.loaded.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    seen.loaded.remove(path.as_uri())
    yield seen
    context.close()
