"""JUnit XML of checks: counts, and texts that XML does not allow."""

from xml.etree import ElementTree as Xml

from kgprobe.results.rendering.checks import Check
from kgprobe.results.rendering.junit import junit_xml

CHECKS = [
    Check("capital", "lost", "5.0 points lost."),
    Check("head <of> \"state\" & 'more'", "undecided", "1.0 points lost."),
    Check("bell\x07 and \ud800 and \uffff", "kept", "0.0 points lost \x00."),
]


def test_junit_verdicts_are_failure_skipped_and_passed() -> None:
    root = Xml.fromstring(junit_xml("base and tuned", CHECKS))  # noqa: S314
    (suite,) = root
    assert suite.attrib == {
        "name": "kgprobe: base and tuned",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
        "time": "0",
    }
    cases = {case.attrib["name"]: case for case in suite}
    assert len(cases) == 3
    assert all(case.attrib["classname"] == "kgprobe" for case in suite)
    failure = cases["capital"].find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "5.0 points lost.", "type": "lost"}
    assert failure.text == "5.0 points lost."
    skipped = cases["head <of> \"state\" & 'more'"].find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "Undecided: 1.0 points lost."


def test_junit_characters_outside_xml_are_escaped() -> None:
    root = Xml.fromstring(junit_xml("x", CHECKS).encode())  # noqa: S314
    last = root[0][2]
    assert last.attrib["name"] == "bell\\x07 and \\ud800 and \ufffd"
    assert last.find("failure") is None
    assert last.findtext("system-out") == "0.0 points lost \\x00."
