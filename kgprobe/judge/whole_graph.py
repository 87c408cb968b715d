"""Predictions of a judge for many facts: statements, negatives, probabilities and metrics.

docs/methods/judged-graphs.md. The result is a table with one row per fact (:mod:`.judged_facts`). The graph is not
queried; its columns suffice.

On many GPUs or machines, workers of a Ray cluster make shards, each with its own copy of the model. Each worker writes
to the folder of the judged graph, on a shared disk. If a worker dies, another one makes its shard.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.answers.settings import CONFIG, versions
from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import share_counter
from kgprobe.graph.client import Graph
from kgprobe.graph.reversal import reversal_of
from kgprobe.graph.state import graph_state
from kgprobe.judge import JudgedGraphOptions
from kgprobe.judge.files import Judge, check_judge
from kgprobe.judge.judged_facts import SCHEMA, JudgedGraphSettings, write_names
from kgprobe.judge.judged_shards import (
    LOOK_SECONDS,
    JudgedShards,
    Shards,
    ShardShare,
    finish_shards,
    judge_shards,
    make_shard,
    shards_of,
)
from kgprobe.judge.labels import pick
from kgprobe.judge.prompts import prepare_statements
from kgprobe.models.computing import in_turn
from kgprobe.models.model import Model, Models
from kgprobe.models.on_ray.workers import ModelPlan, OpenModel, Workers
from kgprobe.models.spec_forms import LocalOptions
from kgprobe.models.states.reader import PreparedTexts, StateReader
from kgprobe.probes.statements.items import StatementWords, statement_relations
from kgprobe.probes.statements.metrics import JUDGEMENTS, NONE, metrics_of
from kgprobe.sampling.columns.graph_columns import (
    GraphColumns,
    Int64s,
    Said,
    columns_of,
    kept_columns,
    kept_said,
    mixed,
    said_of,
)
from kgprobe.sampling.columns.statement_negatives import ColumnNegatives, NegativeArrays, below
from kgprobe.sampling.keys import seeded_number
from kgprobe.sampling.statement_negatives import ENDS

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

Floats = NDArray[np.float32]

# Number of the random stream that chooses templates.
_TEMPLATE = 5


class GraphJudge:
    """A judge with all it needs to predict for the facts of a graph.

    Attributes:
        facts: places of the facts in the columns, in that order, so that a subject's facts are adjacent.
    """

    def __init__(
        self,
        judge: Judge,
        scorer: "Scorer",
        columns: GraphColumns,
        said: Said,
        words: StatementWords,
        settings: JudgedGraphSettings,
    ) -> None:
        """Prepare predictions for facts of these columns."""
        check_judge(judge, scorer)
        self._judge, self._columns, self._settings, self._words = judge, columns, settings, words
        self._states = StateReader(scorer, [judge.layer])
        # A current fact has not ended.
        self._templates = {relation: words.templates(relation, False) for relation in words.relations_in(False)}
        self._negatives = ColumnNegatives(
            columns,
            said,
            words.texts(),
            list(self._templates),
            replace=settings.replace,
            any_type=settings.any_type,
        )
        self.facts = columns.askable(settings.relations, settings.as_of)

    def predict(self, places: range) -> pa.Table:
        """Return the predictions and metrics for some places of ``facts``; ``SCHEMA``.

        Cost: see :class:`~kgprobe.models.states.reader.StateReader`; statements with a common prefix share its
        computation.
        """
        return self.judge(places)()

    def judge(self, places: range) -> Callable[[], pa.Table]:
        """Return a function that makes the table of :meth:`predict` without the model."""
        facts = self.facts[places.start : places.stop]
        columns, count = self._columns, self._settings.negatives
        ids = columns.fact_ids.take(pa.array(facts)).to_pylist()
        bases = np.array([seeded_number(self._settings.seed, "negatives", id_) for id_ in ids], dtype=np.uint64)
        negatives = self._negatives.draw(facts, bases, count)
        texts, reasons = self._verbalize(facts, bases, negatives)
        probabilities, invalid = self._probabilities(texts)
        for place, why in invalid.items():
            row, column = divmod(place, count + 1)
            if column == 0:
                reasons[row] = f"the model cannot take its statement: {why}"
        return partial(self._table, facts, ids, negatives, texts, reasons, probabilities)

    def _verbalize(
        self, facts: Int64s, bases: NDArray[np.uint64], negatives: NegativeArrays
    ) -> tuple[list[str | None], list[str | None]]:
        """Return each fact's statement and its negatives, fact by fact; and the reason of a fact without any."""
        columns, count = self._columns, self._settings.negatives
        own = (columns.subjects[facts], columns.relations[facts], columns.objects[facts])
        ends = np.concatenate([own[0], own[2], negatives.subjects.ravel(), negatives.objects.ravel()])
        entities, where = np.unique(ends, return_inverse=True)
        labels = columns.labels_of(entities)
        parts = np.split(where, np.cumsum([len(facts), len(facts), negatives.subjects.size]))
        subjects, objects, other_subjects, other_objects = (pick(labels, part) for part in parts)
        draws = [mixed(bases, number, _TEMPLATE) for number in range(count + 1)]
        texts: list[str | None] = []
        reasons: list[str | None] = []
        for row in range(len(facts)):
            relation = columns.relation_ids[own[1][row]]
            reason = self._why_not(subjects[row], objects[row], negatives.replaced[row])
            reasons.append(reason)
            if reason:
                texts += [None] * (count + 1)
                continue
            template = self._template(relation, draws[0][row])
            texts.append(self._words.stated(template, subjects[row], objects[row]))
            for number in range(count):
                if negatives.replaced[row, number] < 0:
                    texts.append(None)
                    continue
                other = columns.relation_ids[negatives.relations[row, number]]
                # In the same template, for the same relation.
                words = template if other == relation else self._template(other, draws[number + 1][row])
                place = row * count + number
                texts.append(self._words.stated(words, other_subjects[place], other_objects[place]))
        return texts, reasons

    def _template(self, relation: str, drawn: np.uint64) -> str:
        templates = self._templates[relation]
        return templates[int(below(np.asarray(len(templates)), np.asarray(drawn)))]

    def _why_not(self, subject: str, object_: str, replaced: NDArray[np.int8]) -> str | None:
        """Return the reason against predicting for a fact."""
        if not subject.strip():
            return "its subject's label is white space"
        if not object_.strip():
            return "its object's label is white space"
        if replaced[0] < 0:
            part = "any of its parts" if self._settings.replace == "any" else f"its {self._settings.replace}"
            return f"the graph has nothing that makes it false in place of {part}"
        return None

    def _probabilities(self, texts: Sequence[str | None]) -> tuple[Floats, Mapping[int, str]]:
        """Return the probabilities of the answers to statements, shape (statements, 3), NaN for those with a reason."""
        statements = {place: text for place, text in enumerate(texts) if text is not None}
        order = sorted(statements, key=statements.__getitem__)
        chosen = list(map(statements.__getitem__, order))
        with closing(prepare_statements(self._states, self._judge.prompt, chosen, self._judge.virtual)) as parts:
            # The first part is prepared in this thread.
            prepared = chain(list(islice(parts, 1)), parts)
            return self._read(len(texts), np.array(order, dtype=np.int64), prepared, share_counter(len(order)))

    @in_turn
    def _read(
        self, count: int, order: Int64s, parts: Iterator[PreparedTexts], progress: Callable[[int], None]
    ) -> tuple[Floats, Mapping[int, str]]:
        """Compute all parts of the texts, whose places are in ``order``; see :meth:`_probabilities`."""
        probabilities = np.full((count, len(JUDGEMENTS)), np.nan, dtype=np.float32)
        reasons: dict[int, str] = {}
        for part in parts:
            read = self._states.compute(part, progress)
            own, order = np.split(order, [part.count])
            places = own[part.places]
            # Each fact's own statement comes before those of its negatives.
            truths = places % (self._settings.negatives + 1) == 0
            probabilities[places] = self._judge.classifier.probabilities(read.values[part.places, 0], truths)
            reasons.update((int(own[place]), reason) for place, reason in part.reasons.items())
        return probabilities, reasons

    def _table(
        self,
        facts: Int64s,
        ids: Sequence[str],
        negatives: NegativeArrays,
        texts: Sequence[str | None],
        reasons: Sequence[str | None],
        answers: Floats,
    ) -> pa.Table:
        columns, wide = self._columns, self._settings.negatives + 1
        probabilities = answers.reshape(len(facts), wide, -1)
        judgements = np.full((len(facts), wide), NONE, dtype=np.int8)
        answered = ~np.isnan(probabilities[..., 0])
        judgements[answered] = probabilities[answered].argmax(axis=1)
        subjects, objects = columns.subjects[facts], columns.objects[facts]
        metrics = metrics_of(judgements[:, 0], judgements[:, 1:])
        # After each fact's own statement come those of its negatives, except the missing ones.
        places = np.flatnonzero([place % wide > 0 and text is not None for place, text in enumerate(texts)])
        rows, numbers = np.divmod(places, wide)
        struct = pa.StructArray.from_arrays(
            [
                pa.array([texts[place] for place in places.tolist()], pa.string()),
                pa.array([ENDS[end] for end in negatives.replaced[rows, numbers - 1]], pa.string()),
                self._entity_ids(negatives.subjects[rows, numbers - 1]),
                self._relation_ids(negatives.relations[rows, numbers - 1]),
                self._entity_ids(negatives.objects[rows, numbers - 1]),
                pa.array(judgements[rows, numbers]),
                _triples(probabilities[rows, numbers]),
            ],
            fields=list(SCHEMA.field("negatives").type.value_type),
        )
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(facts)))])
        values: dict[str, Any] = {
            "fact": ids,
            "subject": self._entity_ids(subjects),
            "relation": self._relation_ids(columns.relations[facts]),
            "object": self._entity_ids(objects),
            "subject_types": self._types(subjects),
            "object_types": self._types(objects),
            "subject_degree": columns.degrees[subjects],
            "object_degree": columns.degrees[objects],
            "subject_popularity": pa.array(columns.popularities[subjects], from_pandas=True),
            "object_popularity": pa.array(columns.popularities[objects], from_pandas=True),
            "text": texts[::wide],
            "reason": reasons,
            "judgement": judgements[:, 0],
            "probabilities": _triples(probabilities[:, 0]),
            "negatives": pa.ListArray.from_arrays(pa.array(starts, pa.int32()), struct),
        }
        for name in ("correct", "truthful", "informative"):
            values[name] = pa.array(getattr(metrics, name), from_pandas=True)
        return pa.table(values, schema=SCHEMA)

    def _entity_ids(self, entities: NDArray[Any]) -> pa.Array:
        return self._columns.entity_ids.take(pa.array(entities)).cast(pa.string())

    def _relation_ids(self, relations: NDArray[Any]) -> pa.Array:
        return pa.array(self._columns.relation_ids, pa.string()).take(pa.array(relations))

    def _types(self, entities: NDArray[Any]) -> pa.Array:
        places, lengths = self._columns.types.places(entities)
        names = pa.array(self._columns.type_ids, pa.string()).take(pa.array(self._columns.types.values[places]))
        return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32()), names)


def _triples(probabilities: Floats) -> pa.Array:
    """Return probabilities as lists of three; null where they are NaN."""
    unknown = pa.array(np.isnan(probabilities[:, 0]))
    flat = pa.array(np.nan_to_num(probabilities).ravel(), pa.float32())
    return pa.FixedSizeListArray.from_arrays(flat, len(JUDGEMENTS), mask=unknown)


@dataclass(frozen=True, slots=True)
class JudgingPlan:
    """Judge, model and files for judging a graph.

    Attributes:
        local: its loading options; None for a model object that cannot be loaded again.
    """

    judge: Judge
    model: str
    local: LocalOptions | None
    columns: Path
    said: Path
    words: StatementWords
    settings: JudgedGraphSettings

    def open(self, scorer: "Scorer | None" = None) -> GraphJudge:
        """Return the judge of the graph; load the model, unless a scorer is given."""
        if scorer is None:
            scorer = Models().open(self.model, self.local).local_scorer()
        columns, known = columns_of(self.columns), said_of(self.said)
        return GraphJudge(self.judge, scorer, columns, known, self.words, self.settings)


@dataclass(frozen=True, slots=True)
class PreparedJudging:
    """The judging of a graph, ready to begin."""

    plan: JudgingPlan
    scorer: "Scorer"
    shards: Shards
    config: Mapping[str, Any]

    def run(self, folder: Path, share: ShardShare, callbacks: Callbacks = NO_CALLBACKS) -> JudgedShards:
        """Make the missing shards of a share in a folder, in this process."""
        judge, ahead = self.plan.open(self.scorer).judge, not self.scorer.on_host
        shards = judge_shards(folder, self.config, self.shards, judge, ahead=ahead, share=share, callbacks=callbacks)
        self.write_names(folder)
        return shards

    def write_names(self, folder: Path) -> None:
        """Write the labels of types and relations next to the shards."""
        write_names(folder, columns_of(self.plan.columns).type_labels() | dict(self.plan.words.labels))


def prepare_judging(
    graph: Graph,
    judge: Judge,
    model: Model,
    options: JudgedGraphOptions,
    *,
    relations: Sequence[str],
    as_of: int | None,
    seed: int,
) -> PreparedJudging:
    """Load the model and read the graph's columns.

    Args:
        relations: ids of relations; empty means those of the judge's labels if these are of the same graph, else all.
        as_of: date of the facts, ``yyyymmdd``; None is that of the labels.
    """
    labels, state, words = judge.labels, graph_state(graph), StatementWords.of(graph)
    chosen = bool(relations)
    if not relations and not options.all_relations and labels["graph"] == state:
        relations = labels["relations"]
    replace, any_type = options.replace, options.any_type
    if replace is None:
        replace = labels["options"]["replace"]
        any_type = any_type or labels["options"]["any_type"]
    settings = JudgedGraphSettings(
        relations=tuple(id_ for id_ in statement_relations(graph, relations) if words.templates(id_, False)),
        as_of=labels["as_of"] if as_of is None else as_of,
        negatives=options.negatives,
        replace=replace,
        any_type=any_type,
        seed=seed,
    )
    scorer = model.local_scorer()
    model.refresh()
    check_judge(judge, scorer)
    plan = JudgingPlan(judge, model.name, model.local, kept_columns(graph), kept_said(graph), words, settings)
    facts = len(columns_of(plan.columns).askable(settings.relations, settings.as_of))
    if not facts:
        raise KgprobeError(
            f"The graph has no facts to judge: none of {', '.join(settings.relations)} is current at {settings.as_of}"
            " with names of subject and object."
        )
    shards = shards_of(facts)
    config = {
        "facts": shards.facts,
        "shards": shards.count,
        "shard_size": shards.size,
        "settings": msgspec.to_builtins(settings),
        "statements": words.present,
        "judge": {
            "digest": judge.digest(),
            "answers_of": judge.answers_of,
            "layer": judge.layer,
            "kind": judge.classifier.kind,
            "reader": scorer.describe()["name"],
            "aside": judge.training["options"]["test_size"],
            "seed": judge.training["seed"],
            "labels": judge.training["labels"],
            "options": judge.training["options"],
        },
        "reader": scorer.describe(),
        "prompt": asdict(judge.prompt),
        "versions": versions(),
        "graph": state,
        "reversed": reversal_of(graph) is not None,
        "all_relations": options.all_relations and not chosen,
    }
    return PreparedJudging(plan, scorer, shards, config)


class ShardWorker:
    """A worker that loads the plan once, and then makes one shard after the other."""

    def __init__(self, plan: JudgingPlan, folder: Path, shards: Shards, *_: object) -> None:
        """Load the model and map the columns."""
        for path in (plan.columns, folder / CONFIG):
            if not path.exists():
                raise KgprobeError(
                    f"{path} does not exist. Put KGPROBE_HOME on a disk that all machines share, under the same path."
                )
        self._graph_judge = plan.open()
        if len(self._graph_judge.facts) != shards.facts:
            raise KgprobeError(
                f"{plan.columns} has other facts on this machine than on the first one; share the folder between"
                " machines."
            )
        self._folder, self._shards = folder, shards

    def make(self, number: int) -> int:
        """Make the shard of this number, or wait until another process has made it; return the number."""
        places = self._shards.places(number)
        while (write := make_shard(self._folder, number, partial(self._graph_judge.judge, places))) is None:
            time.sleep(LOOK_SECONDS)
        write()
        return number


def _make(number: int, worker: ShardWorker) -> int:
    return worker.make(number)


def judge_on_ray(
    prepared: PreparedJudging,
    folder: Path,
    workers: int,
    share: ShardShare,
    callbacks: Callbacks = NO_CALLBACKS,
) -> JudgedShards:
    """Make the missing shards of a share in a folder, on the Ray cluster of ``RAY_ADDRESS``, or on this machine.

    Each worker has one CPU, and one GPU if the cluster has any.
    """
    plan, shards = prepared.plan, prepared.shards
    if plan.local is None:
        raise KgprobeError("Workers load the model by its name, so it cannot be a model object; pass its spec.")
    make = partial(_predict, workers, partial(ShardWorker, plan, folder, shards))
    judged = finish_shards(folder, prepared.config, shards, make, share, callbacks)
    prepared.write_names(folder)
    return judged


def _predict(workers: int, open_worker: OpenModel, missing: list[int]) -> Generator[int]:
    """Yield the numbers of shards as workers finish them."""
    if not missing:
        return
    with closing(Workers(min(workers, len(missing)), open_worker)) as started:
        for _, number in started.run_all(ModelPlan("", ()), [partial(_make, number) for number in missing]):
            yield number
