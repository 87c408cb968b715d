"""Neo4j Browser in a real web browser: connect, type, and look at what it draws."""

from pathlib import Path
from typing import TYPE_CHECKING

from tests.chromium import WAIT

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def connect(page: "Page", address: str, password_file: Path) -> None:
    """Open Browser and connect as its own form asks for."""
    page.goto(address)
    password = page.locator("[data-testid=password]")
    password.wait_for(timeout=WAIT)
    page.locator("[data-testid=username]").fill("neo4j")
    password.fill(password_file.read_text(encoding="utf-8").strip())
    page.locator("[data-testid=connect]").click()
    page.get_by_text("You are connected as user").first.wait_for(timeout=WAIT)


def run(page: "Page", text: str) -> "Locator":
    """Type a command or a query, and give its frame, the first of the page."""
    editor = page.locator("[data-testid=activeEditor]")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    before = page.locator("[data-testid=frame]").count()
    page.keyboard.press("Control+Enter")
    page.locator("[data-testid=frame]").nth(before).wait_for(state="attached", timeout=WAIT)
    return page.locator("[data-testid=frame]").first


def drawn(frame: "Locator", colour: str) -> int:
    """Return how many relationships of a colour a frame's picture has."""
    frame.locator("g.relationship").first.wait_for(timeout=WAIT)
    return frame.locator(f"g.relationship path.b-outline[fill='{colour}' i]").count()
