"""``python -m kgprobe`` is ``kgprobe``."""

from kgprobe.cli import main

main()
