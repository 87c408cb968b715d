"""``kgprobe.measure``: a list of facts, each asked once by one probe."""

import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.arguments import folder_name, several, whole_number
from kgprobe.dates import as_of_day
from kgprobe.errors import KgprobeError
from kgprobe.files import home, make_folder
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import asked_by, reversal_of
from kgprobe.graph.state import graph_state
from kgprobe.models.model import Model, Models
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.register import PROBES, ProbeContext, ProbeKind
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks, Stop
from kgprobe.running.claims import CONFIG, read_config
from kgprobe.running.identity import digest_of, versions
from kgprobe.running.measurement import MEASUREMENT, Asked, ask_each, read_measurement
from kgprobe.running.store import FILE, Outcomes
from kgprobe.sampling.selection import Chosen, Listed, choose_facts, list_facts
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.analysis.finding import Finding

PAGE = "finding.html"


@dataclass(frozen=True, slots=True, repr=False)
class Measurement:
    """A measurement: what was asked, how far it came, and what it found.

    Attributes:
        folder: where its answers are kept.
        kind: the probe.
        config: everything that it depends on.
        asked: how far it came, and why it ended.
        missing: messages about facts that were listed and are not in the graph.
        graph: that was asked; None if it was opened without one.
    """

    folder: Path
    kind: ProbeKind
    config: Mapping[str, Any]
    asked: Asked
    missing: Sequence[str] = ()
    graph: Graph | None = None

    @property
    def outcomes(self) -> Outcomes:
        """One outcome a fact, in the order of the facts; read from disk."""
        return Outcomes(self.folder / FILE, self.kind.evidence())

    @property
    def model(self) -> str:
        """The model that was asked, as the user calls it."""
        return str(self.config["described"]["model"])

    @property
    def reversed(self) -> bool:
        """Whether a reversed graph was asked: facts from object to subject."""
        return bool(self.config["reversed"])

    @property
    def asked_by(self) -> str:
        """The probe, and the direction where it is the other one."""
        return asked_by(self.kind.name, self.reversed)

    @property
    def complete(self) -> bool:
        """Whether every fact was asked."""
        return self.asked.done == self.asked.facts

    def frame(self) -> "pd.DataFrame":
        """One row a fact: what was asked, what is right, what won, and how probable the right answer was.

        >>> result.frame()[["relation", "verdict", "right_answer"]].head(2)  # doctest: +SKIP
        """
        return outcomes_frame(self.outcomes)

    def tables(self) -> list[Table]:
        """What the probe has to tell of its outcomes."""
        return self.kind.tables(self.outcomes, self.config["described"])

    def reasons(self, verdict: Verdict) -> dict[str, int]:
        """Why facts have no answer, the most frequent reasons first.

        Args:
            verdict: ``UNASKABLE`` or ``UNANSWERED``.
        """
        return dict(
            Counter(str(outcome.reason) for outcome in self.outcomes if outcome.verdict is verdict).most_common()
        )

    def summary(self) -> str:
        """What it found, in a few lines."""
        title = f"{self.asked_by}, {self.model}"
        return summary_of(title, self.kind, self.outcomes, self.tables(), self.asked.stopped)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        return tables_html(self.summary(), self.tables())

    def finding(self, *, year_relation: str | None = None) -> "Finding":
        """Rates by relation, entity, type and year, the facts behind them, and what the probe has to tell.

        Needs the graph open that was asked.

        Raises:
            KgprobeError: nothing was answered, or the measurement was opened without a graph.
        """
        from kgprobe.analysis.finding import About
        from kgprobe.analysis.make_finding import find_in_outcomes

        if self.graph is None:
            raise KgprobeError("A finding needs the graph for names and types: open_measurement(folder, `graph`).")
        about = About(
            name=self.folder.name,
            model=self.model,
            probe=self.kind.name,
            as_of=int(self.config["as_of"]),
            seed=int(self.config["seed"]),
            described=self.config["described"],
            versions=self.config["versions"],
            reversed=self.reversed,
        )
        years = None if year_relation is None else relation_ids(self.graph, [year_relation])[0]
        return find_in_outcomes(self.graph, about, lambda: self.outcomes, year_relation=years)

    def page(self, finding: "Finding | None" = None) -> Path:
        """Write the finding beside the answers, as a page, as JSON and as CSV; give the page's path.

        Args:
            finding: where it was made before, it need not be made again.
        """
        return write_finding(finding or self.finding(), self.folder, self.outcomes, self.kind, self.graph)

    def export(self) -> list[Path]:
        """Write what the probe offers as tables of their own, such as every plausibility as Parquet; what there is."""
        paths = []
        for name, write in self.kind.exports().items():
            path = self.folder / name
            if not path.exists():
                write(self.outcomes, path)
            paths.append(path)
        return paths

    def save(self, folder: str | Path) -> Path:
        """Copy everything into a folder of yours: answers, also as a table, configuration, finding, and the page.

        Raises:
            KgprobeError: it cannot be written.
        """
        target = Path(folder)
        make_folder(target)
        if self.graph is not None and self.asked.done:
            self.page()
        self.export()
        try:
            for file in self.folder.iterdir():
                if file.name != "lock":
                    shutil.copy2(file, target / file.name)
            self.frame().map(spreadsheet_cell).to_csv(target / "answers.csv", index=False)
        except OSError as error:
            raise KgprobeError(f"{target} cannot be written: {error.strerror or error}.") from error
        return target


def measure(
    graph: Graph,
    model: Model | str,
    probe: str = "distractors",
    *,
    limit: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    batch: int | None = None,
    name: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> Measurement:
    """Ask a model about facts of a graph, once each, and keep the answers.

    >>> result = kgprobe.measure(graph, "demo", "distractors", limit=4, distractors=3, sentences=1)
    >>> result.asked.facts, len(result.frame())
    (4, 4)

    The same call goes on with what an interrupted one began, and shows what a finished one found. A model that was
    trained in between is another model: its weights are a part of what tells measurements apart.

    Cost: that of the probe, a batch at a time. Memory: the keys of the facts, and one batch.

    Args:
        model: see :func:`kgprobe.load_model`; its spec will do.
        probe: how facts are asked: ``distractors``, ``questions``, ``examples``, or another that is installed.
        limit: the most facts that are asked, drawn at random; None takes all. They are asked in random order, and the
            same seed draws the same facts for every probe and limit.
        facts: a list of facts: a file's path, see :func:`~kgprobe.sampling.selection.read_facts`, keys, or names such
            as ``"France | capital | Paris"``; None takes all that can be asked.
        relations: the only relations, each by its id or a name; none means all that can be asked.
        seed: what all random choices follow from.
        as_of: facts count as current at this date; None is today.
        batch: how many facts are asked together; None leaves it to the probe. It has no say in the answers.
        name: of the folder; None makes one from the settings.
        models: opens the models that options name by their specs; None opens them as needed.
        watch: told, and asked, as it goes.
        options: the probe's own; ``kgprobe probe PROBE --help`` lists them, with hyphens.

    Raises:
        UnknownNameError: there is no such probe, model or relation.
        ArgumentError: the probe has no such option, or a value cannot be.
        KgprobeError: the graph has no fact to ask; the folder belongs to another measurement, is in use, or cannot be
            written.
    """
    kind = PROBES.get(probe)
    chosen_options = kind.options_from({**kind.measured, **options})
    relations, seed = relation_ids(graph, several("relations", relations)), whole_number("seed", seed, 0)
    limit = None if limit is None else whole_number("limit", limit)
    name = None if name is None else folder_name("name", name)
    batch = kind.batch if batch is None else whole_number("batch", batch)
    day = as_of_day(as_of)
    # Whoever names what there is not shall know before a model is loaded.
    listed = None if facts is None else list_facts(graph, facts, day)
    opened = models or Models()
    asked_model = opened.open(model)
    asked_model.refresh()
    setting = ProbeContext(graph, asked_model, opened, day, relations)
    made = kind.make(setting, chosen_options)
    chosen = choose_facts(graph, made.relations, as_of=setting.as_of, listed=listed, limit=limit, seed=seed)
    reversal = reversal_of(graph)
    config = {
        "probe": kind.name,
        "options": asdict(chosen_options),
        "described": made.describe(),
        "relations": list(made.relations),
        "facts": chosen.identity,
        "seed": seed,
        "as_of": setting.as_of,
        "graph": graph_state(graph),
        "reversed": reversal is not None,
        "reversed_of": None if reversal is None else reversal.of,
        "versions": versions(),
    }
    folder = home() / "probes" / (_folder_name(kind, config) if name is None else name)
    asked = ask_each(made, chosen.keys, seed, folder, config, batch=batch, callbacks=callbacks)
    return _result(graph, folder, kind, asked, chosen)


def open_measurement(folder: str | Path, graph: Graph | None = None) -> Measurement:
    """A measurement that was made before.

    Args:
        folder: its folder, or its name below kgprobe's own.
        graph: the graph that was asked, for findings.

    Raises:
        KgprobeError: there is none.
    """
    path = find_measurement(folder)
    if path is None:
        raise KgprobeError(
            f"{folder} holds no measurement: {CONFIG} of one is neither in it nor in {home() / 'probes'}."
        )
    config = read_measurement(path)
    kind = PROBES.get(config["probe"])
    outcomes = Outcomes(path / FILE, kind.evidence())
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    done, unanswered = verdicts.total(), verdicts[Verdict.UNANSWERED]
    return Measurement(path, kind, config, Asked(done, done, unanswered, Stop.DONE), (), graph)


def find_measurement(named: str | Path) -> Path | None:
    """Return the folder of a measurement: that of this name below kgprobe's own, else the one at this path.

    A folder counts only if a measurement is in it: a model's may well have the name of a result.
    """
    own, path = home() / "probes" / named, Path(named)
    if not is_path(named) and (own / CONFIG).exists():
        return own
    return path if (path / CONFIG).exists() and "probe" in read_config(path, MEASUREMENT) else None


def is_path(named: str | Path) -> bool:
    """Return whether a text is the path of a folder and no name of a result: ``./tuned``, not ``tuned``."""
    return Path(named).name != str(named) or str(named) == ".."


def _result(graph: Graph, folder: Path, kind: ProbeKind, asked: Asked, chosen: Chosen) -> Measurement:
    return Measurement(folder, kind, read_config(folder, MEASUREMENT), asked, chosen.missing, graph)


def _folder_name(kind: ProbeKind, config: Mapping[str, Any]) -> str:
    model = str(config["described"]["model"]).removeprefix("hf:")
    slug = re.sub(r"[^A-Za-z0-9]+", "-", f"{model}-{asked_by(kind.name, config['reversed'])}").strip("-").lower()
    return f"{slug[-60:]}-{digest_of(config)}"


def write_finding(finding: "Finding", folder: Path, outcomes: Outcomes, kind: ProbeKind, graph: Graph | None) -> Path:
    """Write a finding into a folder: a page, whose path is given, ``results.json``, ``facts.csv`` and ``groups.csv``.

    Args:
        outcomes, kind, graph: of the result, for the list of what was asked.

    Raises:
        KgprobeError: a file cannot be written.
    """
    from kgprobe.analysis.examined import examine
    from kgprobe.report.finding_files import write_finding_files
    from kgprobe.report.result_page import write_result_page

    write_finding_files(finding, folder)
    examined = examine(graph, finding.about.name, finding, outcomes, kind.alternatives)
    return write_result_page(examined, folder / PAGE)


def outcomes_frame(outcomes: "Outcomes") -> "pd.DataFrame":
    """Outcomes in pandas, one row an ask."""
    import pandas as pd

    columns = ("question", "right_answer", "prediction", "probability", "chance")
    rows = [
        {
            "subject": outcome.fact.subject,
            "fact": outcome.fact.fact,
            "relation": outcome.relation,
            "verdict": outcome.verdict.value,
            **{name: getattr(outcome.evidence, name, None) for name in columns},
            "reason": outcome.reason,
            "prompt": outcome.prompt,
        }
        for outcome in outcomes
    ]
    names = ["subject", "fact", "relation", "verdict", *columns, "reason", "prompt"]
    frame: pd.DataFrame = pd.DataFrame(rows, columns=names)
    return frame


def summary_of(title: str, kind: ProbeKind, outcomes: "Outcomes", tables: Sequence[Table], stopped: Stop) -> str:
    """Sum up outcomes in a few lines."""
    from kgprobe.report.cells import shown
    from kgprobe.stats.proportions import share

    verdicts: Counter[Verdict] = Counter()
    chances = []
    for outcome in outcomes:
        verdicts[outcome.verdict] += 1
        if outcome.evidence is not None and outcome.evidence.chance is not None and outcome.verdict.counts:
            chances.append(outcome.evidence.chance)
    heard = sum(count for verdict, count in verdicts.items() if verdict.counts)
    lines = [f"{title}: {verdicts.total():,} asked"]
    headline = kind.headline(outcomes)
    if headline is not None:
        lines = [f"{lines[0]}, {headline}", headline.details]
    elif heard:
        lines[0] += f", {share(verdicts[Verdict.RIGHT], heard)} right"
        lines[0] += f", by chance {sum(chances) / len(chances):.0%}" if chances else ""
    for verdict, word in ((Verdict.UNASKABLE, "could not be asked"), (Verdict.UNANSWERED, "got no answer")):
        if verdicts[verdict]:
            lines.append(f"{verdicts[verdict]:,} {word}")
    if headline is None and tables and tables[0].rows:
        lines.append(
            "; ".join(f"{name} {shown(value)}" for name, value in tables[0].rows[-1].items() if value is not None)
        )
    if stopped.can_go_on:
        lines.append(f"ended early: {stopped.value}; the same call goes on")
    return "\n".join(lines)
