"""Picture of docs/guides/data-model.md: nodes and relationships of the graph, as an SVG for light and dark pages.

``python -m benchmarks.data_model_picture`` writes it. A test compares it with the queries.
"""

from dataclasses import dataclass
from html import escape
from pathlib import Path

import click

WIDTH, HEIGHT = 940, 590
_LINE = 17
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1c2128; }
  .label { font-weight: 600; }
  .small { font-size: 11.5px; fill: #57606a; }
  .type { font: 600 11.5px ui-monospace, monospace; }
  .box { fill: #f6f8fa; stroke: #57606a; }
  .loaded .box { stroke: #0072b2; stroke-width: 2; }
  .asked .box { stroke: #d55e00; stroke-width: 2; }
  .line { fill: none; stroke: #57606a; stroke-width: 1.5; }
  .named { stroke-dasharray: 4 4; }
  .painted { stroke: #007a5a; stroke-width: 2.5; }
  .behind { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9da7b3; }
    .box { fill: #161b22; stroke: #9da7b3; }
    .loaded .box { stroke: #56b4e9; }
    .asked .box { stroke: #e69f00; }
    .line { stroke: #9da7b3; }
    .painted { stroke: #2fbf8f; }
    .behind { fill: #0d1117; }
  }
"""


@dataclass(frozen=True)
class Node:
    """Kind of nodes: labels, properties, position of the box, and origin."""

    label: str
    about: tuple[str, ...]
    x: int
    y: int
    width: int
    by: str

    @property
    def height(self) -> int:
        """Height of the box."""
        return 32 + _LINE * len(self.about)


@dataclass(frozen=True)
class Edge:
    """Type of relationships: name, path of the line, and position of the name.

    Attributes:
        kind: ``line`` is a relationship, ``named`` an id of another node as a property, ``painted`` a painted
            relationship.
    """

    name: str
    path: str
    x: int
    y: int
    about: str = ""
    kind: str = "line"


NODES = (
    Node(":Entity", ("id, label, aliases, types,", "popularity, degree, number"), 40, 60, 220, "loaded"),
    Node(
        ":Entity",
        ("an object, as any other;", ":Literal {value, datatype}", "where it is a date or number"),
        670,
        60,
        230,
        "loaded",
    ),
    Node(":Type", ("an entity that others are;", "size: how many are"), 40, 250, 220, "loaded"),
    Node(
        ":Relation",
        ("id, label, active, size;", "sentences, statements,", "questions to ask it in"),
        670,
        250,
        230,
        "loaded",
    ),
    Node(":Belief", ("alpha, beta, theta, low, high,", "right, wrong, question"), 355, 275, 230, "asked"),
    Node(":Run", ("model, probe, config, round",), 355, 440, 230, "asked"),
    Node(":KgprobeEffect", ("what a run has learned of a", "relation, an entity, popularity"), 40, 430, 220, "asked"),
    Node(":KgprobeJudgedGraph", ("a graph that a judge", "went through"), 670, 430, 230, "asked"),
)
EDGES = (
    Edge(
        "FACT",
        "M 260 85 L 662 85",
        460,
        78,
        "id, relation, start, end; alpha, beta, belief of one run",
    ),
    Edge(
        "KNOWN · LEANS_KNOWN · LEANS_UNKNOWN · UNKNOWN · LEARNED · FORGOT · EXPECTED",
        "M 260 118 C 380 165, 540 165, 662 118",
        460,
        176,
        "painted for people",
        "painted",
    ),
    Edge("INSTANCE_OF", "M 150 126 L 150 242", 150, 190),
    Edge("OBJECT_OF", "M 785 143 L 785 242", 785, 200),
    Edge("JUDGED", "M 785 430 L 785 341", 785, 390),
    Edge("ABOUT", "M 400 275 L 250 134", 320, 213),
    Edge("", "M 540 275 L 690 151", 0, 0, kind="named"),
    Edge("", "M 585 305 L 662 300", 0, 0, kind="named"),
    Edge("BELIEVES", "M 470 440 L 470 349", 470, 395),
    Edge("", "M 260 465 L 347 465", 0, 0, kind="named"),
)
_LEGEND = (
    ("loaded", "written when a graph is loaded"),
    ("asked", "added by asking: of each run its own"),
)


def picture() -> str:
    """Return the picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Nodes and relationships of kgprobe\'s graph">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M 0 0 L 8 4 L 0 8 z" class="line" style="fill: context-stroke"/></marker></defs>',
        f'<rect class="behind" width="{WIDTH}" height="{HEIGHT}"/>',
        *(_edge(edge) for edge in EDGES),
        *(_node(node) for node in NODES),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _node(node: Node) -> str:
    lines = [_text(node.label, node.x + 14, node.y + 22, "label")]
    lines += [
        _text(line, node.x + 14, node.y + 22 + _LINE * number, "small") for number, line in enumerate(node.about, 1)
    ]
    box = f'<rect class="box" x="{node.x}" y="{node.y}" width="{node.width}" height="{node.height}" rx="10"/>'
    return f'<g class="{node.by}">{box}{"".join(lines)}</g>'


def _edge(edge: Edge) -> str:
    arrow = "" if edge.kind == "named" else ' marker-end="url(#end)"'
    line = f'<path class="line {edge.kind}" d="{edge.path}"{arrow}/>'
    if not edge.name:
        return line
    # Letters are 7 points wide, on the page's background.
    width = 7 * len(edge.name) + 8
    ground = f'<rect class="behind" x="{edge.x - width // 2}" y="{edge.y - 12}" width="{width}" height="17"/>'
    about = _text(edge.about, edge.x, edge.y + 25, "small", middle=True) if edge.about else ""
    return line + ground + _text(edge.name, edge.x, edge.y, "type", middle=True) + about


def _legend() -> list[str]:
    top = HEIGHT - 48
    parts = []
    for number, (by, about) in enumerate(_LEGEND):
        x = 40 + 315 * number
        box = f'<rect class="box" x="{x}" y="{top}" width="26" height="16" rx="4"/>'
        parts.append(f'<g class="{by}">{box}{_text(about, x + 36, top + 13, "small")}</g>')
    line = f'<path class="line named" d="M 670 {top + 8} L 700 {top + 8}"/>'
    return [*parts, line + _text("an id in a property: no relationship", 710, top + 13, "small")]


def _text(text: str, x: int, y: int, kind: str, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="{kind}" x="{x}" y="{y}"{anchor}>{escape(text)}</text>'


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("docs/data-model.svg"), show_default=True)
def main(out: Path) -> None:
    """Draw the graph's nodes and relationships."""
    out.write_text(picture(), encoding="utf-8")
    click.echo(f"Wrote {out}.")


if __name__ == "__main__":
    main()
