"""Time of a test run by folder, file and fixture: ``python -m pytest --times folder --times fixture``."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

KINDS = ("folder", "file", "fixture")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that prints the times."""
    parser.addoption(
        "--times",
        action="append",
        default=[],
        choices=KINDS,
        help="print the time spent in each folder, file or fixture (set-up included); may be repeated",
    )


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[None]:
    """Record the time of a fixture's set-up with the test that caused it."""
    start = time.perf_counter()
    try:
        return (yield)
    finally:
        seconds = time.perf_counter() - start
        request._pyfuncitem.user_properties.append((f"fixture {fixturedef.argname}", round(seconds, 3)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print a table for each kind of time that was asked for; by folder in CI."""
    kinds = config.getoption("--times") or (["folder"] if os.environ.get("CI") else [])
    for kind in kinds:
        times = seconds_by(kind, terminalreporter.stats)
        terminalreporter.section(f"seconds by {kind}: {sum(times.values()):.0f} in all workers")
        for name, seconds in sorted(times.items(), key=lambda item: -item[1]):
            if seconds >= 0.5:
                terminalreporter.write_line(f"{seconds:8.1f}  {name}")


def seconds_by(kind: str, stats: dict[str, list[Any]]) -> dict[str, float]:
    """Return the seconds of all reports, added up by folder, file or fixture."""
    times: dict[str, float] = defaultdict(float)
    for reports in stats.values():
        for report in reports:
            if not isinstance(report, pytest.TestReport):
                continue
            file = report.nodeid.partition("::")[0]
            if kind == "fixture":
                if report.when == "teardown":
                    for name, seconds in report.user_properties:
                        times[str(name).removeprefix("fixture ")] += float(str(seconds))
            else:
                times[file if kind == "file" else "/".join(file.split("/")[:2])] += report.duration
    return times
