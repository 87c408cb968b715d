"""What the client keeps from the user's terminal, and what it shows on demand."""

import subprocess
import sys

import pytest

from kgprobe.graph.client import Endpoint
from tests.servers.servers import clean_environment

# In a process of its own: pytest sets up logging, and the terminal of a user has none.
RETRIED = """
import logging, sys
from neo4j.exceptions import TransientError
from kgprobe.graph.client import Endpoint, Graph

if "--debug" in sys.argv:
    logging.basicConfig()
attempts = []

def work(transaction):
    attempts.append(1)
    if len(attempts) == 1:
        raise TransientError("busy")
    return transaction.run("load/loads")

with Graph(Endpoint(*sys.argv[1:4], sys.argv[4] or None)) as graph:
    graph.transaction(work)
print(len(attempts))
"""


@pytest.mark.parametrize("options", [[], ["--debug"]])
def test_a_transaction_is_tried_anew_without_a_word(endpoint: Endpoint, options: list[str]) -> None:
    arguments = [endpoint.address, endpoint.user, endpoint.password, endpoint.database or "", *options]
    done = subprocess.run(
        [sys.executable, "-c", RETRIED, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(),
        check=True,
    )
    assert done.stdout == "2\n"
    assert ("will be retried" in done.stderr) == bool(options)
    assert bool(done.stderr) == bool(options)
