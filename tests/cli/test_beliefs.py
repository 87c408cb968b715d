"""``kgprobe beliefs`` as a user types it."""

import json

from kgprobe.beliefs.painting import PAINTS
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed


def test_beliefs_are_painted_and_cleared(home: dict[str, str], model: str) -> None:
    begin = ["--rounds", "1", "--facts-per-round", "4", "--relation", "P36", "--distractors", "1", "--name"]
    for name in ("base", "tuned"):
        assert kgprobe("rounds", "run", "distractors", "--model", model, *begin, name, **home).returncode == 0
    painted = succeed("beliefs", "paint", "base", **home)
    assert painted.stdout.startswith("Painted the beliefs of run base: ")
    query = painted.stdout.splitlines()[1].partition("Browser: ")[2]
    assert succeed("graph", "query", query, "--json", **home).stdout.count('"path"') > 0
    told = json.loads(kgprobe("beliefs", "paint", "--against", "base", "--json", **home).stdout)
    assert (told["runs"], told["against"]) == (["tuned"], "base")
    asked = sum(told[type_] for type_ in PAINTS if type_ != "EXPECTED")
    # The last run is in view, so that unasked facts have an expectation.
    assert (asked, 0 < told["EXPECTED"] <= 200) == (4, True)
    deleted = asked + told["EXPECTED"]
    assert json.loads(kgprobe("beliefs", "paint", "--clear", "--json", **home).stdout) == {"deleted": deleted}
    both = kgprobe("beliefs", "paint", "--clear", "base", **home)
    assert (both.returncode, "leave out RUN, --against and --expected" in both.stderr) == (2, True), both.stderr
    same = kgprobe("beliefs", "paint", "base", "--against", "base", **home)
    assert (same.returncode, "--against is 'base', a painted run itself" in same.stderr) == (2, True), same.stderr
    nobody = kgprobe("beliefs", "paint", "nobody", **home)
    assert (nobody.returncode, "Unknown run 'nobody'" in nobody.stderr) == (2, True), nobody.stderr


def test_beliefs_are_shown_on_facts_and_hidden(home: dict[str, str], model: str) -> None:
    begin = ["--rounds", "1", "--facts-per-round", "4", "--relation", "P36", "--distractors", "1", "--name"]
    for name, options in (("seen", []), ("unseen", ["--no-view"])):
        succeed("rounds", "run", "distractors", "--model", model, *begin, name, *options, **home)
    in_view = "MATCH (r:Run) WHERE r.inView RETURN r.id AS run"
    assert json.loads(kgprobe("graph", "query", in_view, "--format", "jsonl", **home).stdout)["run"] == "seen"
    shown = succeed("beliefs", "apply", "unseen", "--json", **home)
    facts = json.loads(shown.stdout)["facts"]
    held = "MATCH ()-[f:FACT]->() WHERE f.theta > 0 RETURN sum(f.right + f.wrong) AS answers, count(f) AS facts"
    row = json.loads(kgprobe("graph", "query", held, "--format", "jsonl", **home).stdout)
    assert (row["answers"], row["facts"]) == (4, facts)
    assert kgprobe("beliefs", "remove", **home).stdout == f"Removed the beliefs from {facts:,} facts.\n"
    assert json.loads(kgprobe("graph", "query", held, "--format", "jsonl", **home).stdout)["facts"] == 0
    nobody = kgprobe("beliefs", "apply", "nobody", **home)
    assert (nobody.returncode, "Unknown run 'nobody'" in nobody.stderr) == (2, True), nobody.stderr
    for name in ("seen", "unseen"):
        assert kgprobe("delete", name, "--yes", **home).returncode == 0
