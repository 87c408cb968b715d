"""Models side by side as a person sees them: on a terminal and on a page."""

import io
from pathlib import Path

from rich.console import Console

from kgprobe.analysis.side_by_side import AnsweredFacts, set_side_by_side
from kgprobe.report.plots import HeatMap
from kgprobe.report.plots_page import write_plots_page
from kgprobe.report.tables import rich_table
from kgprobe.results.comparison import models_table
from kgprobe.tables import Table
from tests.analysis.answered import answered


def test_runs_stand_side_by_side_the_best_first() -> None:
    def printed(*several: AnsweredFacts) -> list[str]:
        out = io.StringIO()
        console = Console(file=out, width=100, force_terminal=False)
        console.print(rich_table(models_table(set_side_by_side(several))))
        return out.getvalue().splitlines()

    facts = {f"fact {number}": number > 4 for number in range(15)}
    worse = answered("hf:org/model", facts, sampling="thompson")
    better = answered("hf:/models/better", {**dict.fromkeys(facts, True), "another": True}, sampling="thompson")
    told = printed(worse, better)
    lines = [line for line in told if "%" in line]
    assert [line.split()[:3] for line in lines] == [["better", "16", "15"], ["org/model", "15", "15"]]
    assert "100% [80, 100]" in lines[0]
    assert "67% [42, 85]" in lines[1]
    caveat = "Rates are over the 15 facts that all of them were asked; these were asked because a model"
    assert caveat in " ".join(" ".join(told).split())

    apart = printed(worse, answered("apart", {"another": True}))
    assert not [line for line in apart if "%" in line]
    assert "No fact was asked of all of them" in " ".join(apart)


def test_a_page_of_heat_maps_shows_names_as_text(tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>"
    plot = HeatMap(evil, [evil, "b"], ["model", evil], [[0.5, None], [1.0, -1.0]], "r", (-1.0, 1.0))
    tables = [Table("one", "First", [{evil: 1.0, "text": evil}], [evil]), Table("two", "", [])]
    page = write_plots_page(tmp_path / "own" / "page.html", evil, evil, [plot], tables, [evil], {"seed": 0})
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert") >= 6
    assert '"type":"heatmap"' in text
    assert "First" in text
    assert [path.suffix for path in tmp_path.iterdir() if path.is_file()] == [".js"]
