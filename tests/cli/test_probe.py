"""The probe commands as a user types them."""

import json
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kgprobe.base import progress
from kgprobe.models.scoring.contract import TextScorer
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed

AS_OF = ("--as-of", "2024")


def test_sample_is_probed_kept_and_shown_again(home: dict[str, str], model: str) -> None:
    command = ["probe", "distractors", "--model", model, "--limit", "9", "--distractors", "4", *AS_OF, "--json"]
    done = succeed(*command, **home)
    found = json.loads(done.stdout)
    assert (found["facts"], found["done"], found["not_in_graph"]) == (9, 9, 0)
    curves = found["tables"]["curves"]["rows"]
    assert [row["n"] for row in curves] == [1, 2, 4]
    means = [row["Min@n"] for row in curves]
    assert means == sorted(means, reverse=True)
    assert all(row["Min@n_low"] <= row["Min@n"] <= row["Min@n_high"] for row in curves)
    table = pd.read_parquet(found["files"][0])
    assert table["fact"].nunique() == 9
    assert len(Path(found["outcomes"]).read_text().splitlines()) == 9
    assert 0 < found["device_waited"] < 1

    again = kgprobe(*command, **home)
    assert again.stdout == done.stdout
    assert "9 of them measured before" in again.stderr

    shown = kgprobe(*command[:-1], **home)
    lines = shown.stdout.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines[:-1])) <= 80
    assert lines[-1] == f"Page: {Path(found['page']).as_uri()}"
    assert f"{Path(model).name} knows " in lines[-2]
    assert "Min@n" not in shown.stdout
    results = json.loads((Path(found["page"]).parent / "results.json").read_text())
    assert (results["headline"], results["model"]) == (found["headline"], model)
    full = kgprobe(*command[:-1], "--full", **home)
    assert "Min@n" in full.stdout
    assert full.stdout.endswith(shown.stdout)


def test_how_a_model_is_computed_is_told_when_asked(home: dict[str, str], model: str) -> None:
    command = ["probe", "distractors", "--model", model, "--limit", "2", "--distractors", "1", *AS_OF, "--json"]
    how = ("--device", "cpu", "--dtype", "bfloat16", "--batch-tokens", "100")
    told = succeed(*command, "--explain", *how, **home)
    assert "packed: all continuations of a prompt" in told.stderr
    assert "agrees with plain forward passes" in told.stderr
    assert "bfloat16 on cpu" in told.stderr
    assert "tokens at once  100" in re.sub(" {2,}", "  ", told.stderr)
    # Nothing of it stands where programs read.
    waited = json.loads(told.stdout)["device_waited"]
    assert re.search(rf"device  computed {1 - waited:.0%} of [\d.]+ s of asking, waited {waited:.0%}", told.stderr)
    assert "packed" not in kgprobe(*command, **home).stderr
    for wrong, said in (("--device", "--device 'abacus' cannot be used"), ("--revision", "--revision is 'abacus'")):
        refused = kgprobe(*command, wrong, "abacus", **home)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr


def test_list_is_probed_and_what_is_not_there_is_told(home: dict[str, str], model: str, tmp_path: Path) -> None:
    listed = tmp_path / "facts.tsv"
    listed.write_text("Q17\tP36\tQ1490\nQ17\tP36\tQ90\n")
    command = ["probe", "distractors", "--model", model, "--distractors", "2", "--sentences", "1", "--facts"]
    done = succeed(*command, str(listed), "--json", **home)
    assert "line 2: the graph has no fact Q17 P36 Q90" in done.stderr
    found = json.loads(done.stdout)
    assert (found["facts"], found["not_in_graph"]) == (1, 1)
    outcome = json.loads(Path(found["outcomes"]).read_text())
    assert outcome["evidence"]["object"] == {"id": "Q1490", "label": "Tokyo"}

    listed.write_text("Q17\tP36\tQ90\n")
    none = kgprobe(*command, str(listed), **home)
    assert (none.returncode, "--facts names no fact of this graph" in none.stderr) == (1, True)


def test_functions_above_the_model_are_the_documented_ones(
    home: dict[str, str], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, calls, scored = Path(progress.__file__).parent.parent, set(), TextScorer.score

    def score(*arguments: Any, **options: Any) -> Any:
        frames = [(Path(frame.filename), frame.name) for frame in traceback.extract_stack()[:-1]]
        own = [f"| `{name}` | `{path.relative_to(package)}` |" for path, name in frames if package in path.parents]
        calls.add("\n".join(own))
        return scored(*arguments, **options)

    monkeypatch.setattr(TextScorer, "score", score)
    succeed("probe", "distractors", "--model", model, "--limit", "3", "--distractors", "2", *AS_OF, **home)
    listed = re.findall(r"^\| `\w+` \| `[\w/]+\.py` \|", Path("docs/architecture.md").read_text(), re.MULTILINE)
    assert calls == {"\n".join(listed[:-1])}
    assert len(listed) <= 14


def test_without_a_terminal_lines_tell_how_far_it_is(
    home: dict[str, str], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock runs a minute for each batch that is scored, and within each a line is due."""
    count, clock = progress.share_counter, [0.0]
    monkeypatch.setattr(progress, "DISPLAY", progress.Display(lambda: clock[0]))

    def slow(total: int, until: float = 1.0) -> Callable[[int], None]:
        counted = count(total, until)

        def later(more: int) -> None:
            counted(more)
            clock[0] += 31 if more else 0
            progress.DISPLAY.print_due()

        return later

    monkeypatch.setattr("kgprobe.probes.search.plausibility.share_counter", slow)
    # Tokens at once are few, so that a batch is scored in parts.
    command = ["probe", "distractors", "--model", model, "--limit", "8", "--distractors", "3", "--batch-size", "4"]
    done = succeed(*command, "--batch-tokens", "60", "--name", "slow", *AS_OF, "--json", **home)
    assert json.loads(done.stdout)["done"] == 8
    lines = [line for line in done.stderr.splitlines() if " of 8 facts, " in line]
    assert all(line.startswith(f"Probing {model}: ") for line in lines)
    shares = [int(re.findall(r"(\d+)%, ", line)[0]) for line in lines]
    assert shares == sorted(shares)
    # Within the first batch, which is half of it all, and within the second.
    assert [share for share in shares if 0 < share < 50]
    assert [share for share in shares if 50 < share < 100]
    assert any(re.search(r" facts/s, about \d+ (s|min) left", line) for line in lines), lines
