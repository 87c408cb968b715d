"""Query plans on the terminal."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kgprobe.graph.plans import QueryPlan, Step
from kgprobe.sanitize import visible, visible_lines


def plan_shown(plan: QueryPlan) -> RenderableType:
    """Return a table of a plan's operators, each indented below its consumer, or the engine's own text."""
    if not plan.steps:
        return Text(visible_lines(plan.text))
    was_run = any(step.rows is not None for step in plan.steps)
    shown = Table()
    shown.add_column("operator", overflow="fold")
    shown.add_column("details", overflow="fold")
    for column in ("expected rows", *(("rows", "hits") if was_run else ())):
        shown.add_column(column, justify="right")
    for step in plan.steps:
        shown.add_row(*_cells(step, was_run))
    return shown


def _cells(step: Step, was_run: bool) -> list[Text]:
    numbers = [f"{step.estimated:,.0f}" if step.estimated is not None else ""]
    if was_run:
        numbers += ["" if number is None else f"{number:,}" for number in (step.rows, step.hits)]
    return [Text(" " * step.depth + visible(step.operator)), Text(visible(step.details)), *map(Text, numbers)]
