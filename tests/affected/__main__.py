"""The command line: ``python -m tests.affected``."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.affected.repository import changed_files, git, read_tree
from tests.affected.selection import select


def main(arguments: Sequence[str]) -> int:
    """Select the affected tests, and list or run them; returns the exit code."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m tests.affected", description="Run the tests that a change affects."
    )
    parser.add_argument("--base", default="HEAD", metavar="REV", help="Commit to compare the working tree with.")
    parser.add_argument("--list", action="store_true", help="Print the affected test files; run none.")
    parser.add_argument(
        "--why", action="store_true", help="With --list: print the shortest chain of imports to the change."
    )
    parser.epilog = "Arguments after -- go to pytest, for example: -- -n 2 -x"
    options = parser.parse_args(arguments[:place])
    try:
        root = Path(git(Path.cwd(), "rev-parse", "--show-toplevel")[0].rstrip("\n"))
    except subprocess.CalledProcessError:
        return fail(f"{Path.cwd()} is not in a git checkout.")
    try:
        changed = changed_files(root, git(root, "rev-parse", "--verify", f"{options.base}^{{commit}}")[0].strip())
    except subprocess.CalledProcessError:
        return fail(f"--base {options.base}: git knows no such commit.")
    selected = select(read_tree(root, changed), changed)
    if options.list or not selected:
        lines = [" > ".join(files) if options.why else test for test, files in selected.items()]
        print("\n".join(lines) or "No test is affected.")
        return 0
    done = subprocess.run([sys.executable, "-m", "pytest", *selected, *arguments[place + 1 :]], cwd=root, check=False)
    return 0 if done.returncode == 5 else done.returncode


def fail(message: str) -> int:
    """Print a message, and return the exit code of wrong usage."""
    print(message, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
