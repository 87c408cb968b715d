"""What a long step says to whoever waits for it."""

import sys


def tell(message: str) -> None:
    """Write one line to stderr, where messages go; stdout belongs to data."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
