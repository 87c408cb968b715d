"""The command line's own fixture: a user's folder, and the example graph on a server."""

from tests.cli.conftest import home

__all__ = ["home"]
