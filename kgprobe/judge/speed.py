"""Speed of a judge compared with answers in words, on the same statements (appendix A.1 of the paper).

docs/methods/judged-graphs.md. Times are without loading and the first few statements.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import read_json, replacing
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.judge.files import Judge
from kgprobe.judge.judged_facts import read_judged_graph, stream_judged_facts
from kgprobe.judge.prompts import read_statements
from kgprobe.judge.quality import rounded
from kgprobe.models.generating.generator import Generator, Request
from kgprobe.models.generating.thinking import Thinking
from kgprobe.models.states.reader import StateReader
from kgprobe.probes.true_false import STATEMENT

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

FILE = "speed.json"
JUDGE, GENERATION = "judge", "text generation"
# Statements that are answered once before the clock starts.
_BEFORE = 8


@dataclass(frozen=True, slots=True)
class Speed(ResultRow):
    """Statements that are answered in a second.

    Attributes:
        by: ``judge`` or ``text generation``.
        model: the model whose hidden states are read, or that answers in words.
        per_second: statements per second.
        device: devices of the model.
    """

    by: Annotated[str, Heading("by")]
    model: Annotated[str, Heading("model")]
    statements: Annotated[int, Heading("statements")]
    seconds: Annotated[float, Heading("seconds", rounded)]
    per_second: Annotated[float, Heading("statements/s", rounded)]
    device: Annotated[str, Heading("device")]
    dtype: Annotated[str, Heading("precision")]


def compare_speed(judge: Judge, scorer: "Scorer", generator: Generator, folder: Path, count: int) -> list[Speed]:
    """Time the judge and the labelled model's answers on statements of a judged graph; store the speeds there.

    Cost: the statements, once by the judge and once in words.

    Args:
        generator: generator of the labelled model; answers as in the labels, once each.
        count: number of statements, the first ones of the judged graph.
    """
    statements = _statements(folder, count)
    if not statements:
        raise KgprobeError(f"{folder} has no judged statements, so there is no speed to compare.")
    reader, described = StateReader(scorer, [judge.layer]), judge.labels["described"]
    thinking = Thinking.parse(described.get("thinking"))

    def read(texts: Sequence[str]) -> None:
        states = read_statements(reader, judge.prompt, texts, virtual=judge.virtual).values[:, 0]
        judge.classifier.probabilities(states, np.ones(len(texts), dtype=bool))

    def say(texts: Sequence[str]) -> None:
        requests = []
        for number, text in enumerate(texts):
            prompt = described["instruction"].replace(STATEMENT, text)
            request = Request(
                prompt, described["answer_tokens"], described["temperature"], seed=number, thinking=thinking
            )
            requests.append(request)
        generator.answer(requests)

    speeds = [_timed(JUDGE, read, statements, scorer.describe())]
    speeds.append(_timed(GENERATION, say, statements, generator.describe()))
    with replacing(folder / FILE) as unfinished:
        unfinished.write_bytes(msgspec.json.encode(speeds))
    return speeds


def read_speeds(folder: Path) -> list[Speed]:
    """Return the stored speeds of a judged graph; empty without any."""
    try:
        return read_json(folder / FILE, list[Speed], "Delete it; `kgprobe judge predict --compare-speed` makes it.")
    except FileNotFoundError:
        return []


def _timed(
    by: str, answer: Callable[[Sequence[str]], None], statements: Sequence[str], described: dict[str, object]
) -> Speed:
    answer(statements[:_BEFORE])
    start = time.perf_counter()
    answer(statements)
    seconds = time.perf_counter() - start
    about = (str(described.get(name, "")) for name in ("device", "dtype"))
    return Speed(by, str(described["name"]), len(statements), seconds, len(statements) / seconds, *about)


def _statements(folder: Path, count: int) -> list[str]:
    """Return the first judged statements, of facts and negatives, each once."""
    statements: dict[str, None] = {}
    shards = range(read_judged_graph(folder).shards)
    for batch in stream_judged_facts(folder, shards, ["text", "negatives"], rows=1024):
        for row in batch.to_pylist():
            if row["text"] is not None:
                statements |= dict.fromkeys([row["text"], *(negative["text"] for negative in row["negatives"])])
            if len(statements) >= count:
                return list(statements)[:count]
    return list(statements)
