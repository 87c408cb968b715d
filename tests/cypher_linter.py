"""Neo4j's linter of Cypher, which needs no server: a package of npm, run by the Node.js of Playwright.

Install it once into the clone, where git ignores it:

    npm install --no-save --no-package-lock @neo4j-cypher/language-support@2.0.0-next.38
"""

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parent / "lint_cypher.mjs"
_PACKAGE = "@neo4j-cypher/language-support"
_VERSION = "2.0.0-next.38"


@dataclass(frozen=True)
class Linted:
    """A statement for the linter.

    Attributes:
        parameters: names of the parameters that the statement may use.
    """

    name: str
    text: str
    parameters: Sequence[str]


def lint(statements: Iterable[Linted]) -> list[str]:
    """Return what the linter says of statements, a line each; skip the test where the linter is missing."""
    if not (_SCRIPT.parent.parent / "node_modules" / _PACKAGE).is_dir():
        pytest.skip(f"run `npm install --no-save --no-package-lock {_PACKAGE}@{_VERSION}` in the clone")
    run = subprocess.run(
        [_node(), str(_SCRIPT)],
        input=json.dumps([asdict(statement) for statement in statements]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return [f"{found['name']}, line {found['line']}: {found['message']}" for found in json.loads(run.stdout)]


def _node() -> str:
    """Return the path of Playwright's Node.js: the linter needs version 24, and systems have older ones."""
    driver = pytest.importorskip("playwright._impl._driver", reason="needs playwright, for its Node.js")
    node, _ = driver.compute_driver_executable()
    return str(node)
