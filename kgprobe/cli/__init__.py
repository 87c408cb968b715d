"""The command line: parse, call one function, render."""

from kgprobe.cli.main import main

__all__ = ["main"]
