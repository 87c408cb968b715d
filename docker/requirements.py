"""What pyproject.toml says that kgprobe needs, a line each: so that a layer of an image has it without the source.

docker/Dockerfile runs it, in a folder with pyproject.toml; it needs Python 3.11 and nothing else.
"""

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import tomllib

_OWN = re.compile(r"kgprobe\[(?P<extras>[\w,-]+)\]")


def requirements(project: Mapping[str, object], extras: Sequence[str]) -> Iterator[str]:
    """The dependencies of a project, and those of its extras, which may name others of its extras."""
    optional: Mapping[str, Sequence[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    needed: Sequence[str] = project["dependencies"]  # type: ignore[assignment]
    yield from needed
    for extra in extras:
        if extra not in optional:
            raise SystemExit(f"There is no extra {extra!r}; there are {', '.join(optional)}.")
        for one in optional[extra]:
            own = _OWN.fullmatch(one)
            if own is None:
                yield one
            else:
                yield from list(requirements(project, own["extras"].split(",")))[len(needed) :]


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="", help="extras, with commas")
    parser.add_argument("--only", help="the one of this name")
    asked = parser.parse_args()
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    for one in dict.fromkeys(requirements(project, [extra for extra in asked.extras.split(",") if extra])):
        if asked.only is None or re.match(r"[\w.-]+", one)[0] == asked.only:  # type: ignore[index]
            print(one)  # noqa: T201


if __name__ == "__main__":
    main()
