"""The command line, for ``python -m kgprobe``."""

from kgprobe.cli import main

main()
