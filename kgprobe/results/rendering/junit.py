"""Checks as JUnit XML, which GitHub Actions, GitLab and Jenkins read.

A lost check is a failure, an undecided one is skipped.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from kgprobe.base.sanitize import visible
from kgprobe.results.rendering.checks import Check

# Characters that XML does not allow and that are not control characters.
_FORBIDDEN = re.compile("[\ufffe\uffff]")


def junit_xml(suite: str, checks: Sequence[Check]) -> str:
    """Return checks as one test suite.

    >>> text = junit_xml("base and tuned", [Check("capital", "lost", "3.0 points lost.")])
    >>> "<failure" in text, 'tests="1" failures="1"' in text
    (True, True)
    """
    verdicts = [check.verdict for check in checks]
    counts = {"tests": str(len(checks)), "failures": str(verdicts.count("lost")), "errors": "0"}
    counts["skipped"] = str(verdicts.count("undecided"))
    root = Xml.Element("testsuites")
    tests = Xml.SubElement(root, "testsuite", {"name": _text(f"kgprobe: {suite}"), **counts, "time": "0"})
    for check in checks:
        case = Xml.SubElement(tests, "testcase", {"classname": "kgprobe", "name": _text(check.name), "time": "0"})
        text = _text(check.text)
        if check.verdict == "lost":
            Xml.SubElement(case, "failure", {"message": text, "type": "lost"}).text = text
        elif check.verdict == "undecided":
            Xml.SubElement(case, "skipped", {"message": f"Undecided: {text}"})
        else:
            Xml.SubElement(case, "system-out").text = text
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", visible(text))
