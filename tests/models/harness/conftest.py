"""The command line's own fixtures: a user's folder, and the example graph in it."""

from tests.cli.conftest import example, home

__all__ = ["example", "home"]
