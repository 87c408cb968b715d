"""Plan of predictions for a graph that any process can execute: paths, names, and the judge."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.judge.files import Judge
from kgprobe.judge.judged_facts import SweepSettings
from kgprobe.judge.whole_graph import GraphJudge
from kgprobe.models.local_options import LocalOptions
from kgprobe.models.model import Models
from kgprobe.probes.statements.words import StatementWords
from kgprobe.sampling.columns.graph_columns import columns_of
from kgprobe.sampling.columns.said import said_of

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Judge, model and files of predictions for a graph.

    Attributes:
        model: the spec of the model whose states are read.
        local: its loading options; None for a model object that cannot be loaded again.
        columns, said: folders of the graph's columns.
    """

    judge: Judge
    model: str
    local: LocalOptions | None
    columns: Path
    said: Path
    words: StatementWords
    settings: SweepSettings

    def open(self, scorer: "Scorer | None" = None) -> GraphJudge:
        """Return the judge of the graph; load the model, unless a scorer is given.

        Raises:
            KgprobeError: the model cannot be loaded, or the judge was trained on another one.
        """
        if scorer is None:
            scorer = Models().open(self.model, self.local).local_scorer()
        columns, said = columns_of(self.columns), said_of(self.said)
        return GraphJudge(self.judge, scorer, columns, said, self.words, self.settings)
