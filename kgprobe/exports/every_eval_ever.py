"""Measurements in the schema of Every Eval Ever, version 0.3.0 (https://github.com/evaleval/every_eval_ever).

A record has the share of all facts and of each relation, with intervals; a file next to it has one line per fact. Both
have the path of the shared data set: ``data/BENCHMARK/OWNER/MODEL/UUID.json`` and ``UUID_samples.jsonl``.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from kgprobe.errors import ArgumentError
from kgprobe.exports.shares import PublishedShare, PublishedShares, is_open
from kgprobe.files import make_folder, replacing
from kgprobe.models.spec_forms import is_api
from kgprobe.probes.outcome import Evidence, Outcome, Verdict
from kgprobe.running.settings import digest_of
from kgprobe.stats.proportions import CONFIDENCE

SCHEMA_VERSION = "0.3.0"
# Relations of the evaluator to the model's developer.
FIRST_PARTY, THIRD_PARTY = "first_party", "third_party"
RELATIONSHIPS = (FIRST_PARTY, THIRD_PARTY, "collaborative", "other")


def write_record(
    published: PublishedShares,
    folder: Path,
    organization: str,
    *,
    relationship: str = THIRD_PARTY,
    benchmark: str | None = None,
    dataset: str | None = None,
) -> tuple[Path, Path]:
    """Write a measurement as a record with its answers; return both files.

    The same measurement has the same files, so that writing it again replaces them.

    Args:
        folder: folder in which ``data/`` lies.
        organization: organization that publishes the record.
        relationship: its relation to the model's developer; one of ``RELATIONSHIPS``.
        benchmark: name of the evaluation; None for ``kgprobe-`` with the probe's name.
        dataset: repository of the facts on the Hugging Face hub; None if they have none.

    Raises:
        ArgumentError: no organization, an unknown relationship, or a name that is no folder's.
        KgprobeError: a file cannot be written.

    Cost: one pass over the answers. Memory: one answer.
    """
    if not organization.strip():
        raise ArgumentError("organization", "is empty; expected the name of the organization that publishes it.")
    if relationship not in RELATIONSHIPS:
        raise ArgumentError("relationship", f"is {relationship!r}; expected one of {', '.join(RELATIONSHIPS)}.")
    benchmark = f"kgprobe-{published.task}" if benchmark is None else benchmark
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", benchmark) or benchmark == "data":
        raise ArgumentError("benchmark", f"is {benchmark!r}; expected letters, digits, hyphens and underscores.")
    name = str(_uuid_of(published, benchmark))
    below = Path("data", benchmark, *published.model_id.split("/"))
    make_folder(folder / below)
    record = _record(published, organization.strip(), relationship, benchmark, dataset)
    answers_path = below / f"{name}_samples.jsonl"
    checksum, count = hashlib.sha256(), 0
    with replacing(folder / answers_path) as unfinished, unfinished.open("wb") as file:
        for line in _answers(published, record["evaluation_id"], benchmark):
            encoded = msgspec.json.encode(line) + b"\n"
            checksum.update(encoded)
            file.write(encoded)
            count += 1
    record["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": answers_path.as_posix(),
        "hash_algorithm": "sha256",
        "checksum": checksum.hexdigest(),
        "total_rows": count,
    }
    path = folder / below / f"{name}.json"
    with replacing(path) as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
    return path, folder / answers_path


def _uuid_of(published: PublishedShares, benchmark: str) -> UUID:
    """Return an identifier that depends on the measurement's settings and on the time of its last answer."""
    parts = (benchmark, published.model_id, digest_of(published.measurement.config), published.answered.isoformat())
    return UUID(bytes=hashlib.sha256("\0".join(parts).encode()).digest()[:16], version=4)


def _record(
    published: PublishedShares, organization: str, relationship: str, benchmark: str, dataset: str | None
) -> dict[str, Any]:
    about = published.measurement.about
    moment = str(int(published.answered.timestamp()))
    versions = {f"version_{name}": version for name, version in about.versions.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{benchmark}/{published.model_id}/{moment}",
        "evaluation_timestamp": moment,
        "retrieved_timestamp": moment,
        "source_metadata": {
            "source_name": "kgprobe",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": {
            "name": "kgprobe",
            "version": about.versions["kgprobe"],
            "additional_details": {"measurement": about.name, "seed": str(about.seed), **versions},
        },
        "model_info": {
            "name": about.called,
            "id": published.model_id,
            "developer": published.model_id.partition("/")[0],
            "additional_details": {
                "deployment_type": _deployment_of(published.measurement.model),
                "model_availability": "open_weights" if is_open(published.measurement.model) else "unknown",
                **published.model,
            },
        },
        "evaluation_results": [
            _result(published, published_share, benchmark, dataset) for published_share in published.shares
        ],
    }


def _deployment_of(spec: str) -> str:
    """Return who ran the model; a server with an address may be the user's own."""
    if not is_api(spec):
        return "self_deployed"
    return "unknown" if "@" in spec else "externally_managed"


def _result(published: PublishedShares, one: PublishedShare, benchmark: str, dataset: str | None) -> dict[str, Any]:
    measurement = published.measurement
    rate = one.rate
    about_facts = {"relation": one.relation or "all", "as_of": str(measurement.about.as_of)}
    source: dict[str, Any] = {"dataset_name": dataset or "knowledge graph", "additional_details": about_facts}
    if dataset is None:
        source["source_type"] = "other"
        about_facts["graph"] = str(measurement.config.get("graph") or measurement.config.get("dataset"))
    else:
        source |= {"source_type": "hf_dataset", "hf_repo": dataset, "samples_number": one.facts}
    details = {"facts": str(one.facts)}
    if one.relation is None:
        details["without_answer"] = str(published.without_answer)
        if published.chance is not None:
            details["chance_level"] = f"{published.chance:.6f}"
    return {
        "evaluation_result_id": _result_id(one),
        "evaluation_name": benchmark if one.relation is None else f"{benchmark}: {one.name}",
        "source_data": source,
        "metric_config": {
            "evaluation_description": (
                f"Share of facts of the graph that the model answered right, by the probe {measurement.asked_by}"
            ),
            "metric_id": "accuracy",
            "metric_name": "Accuracy",
            "metric_kind": "accuracy",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {
            "score": rate.value,
            "details": details,
            "uncertainty": {
                "confidence_interval": {
                    "lower": rate.low,
                    "upper": rate.high,
                    "confidence_level": CONFIDENCE,
                    "method": "Wilson score interval",
                },
                "num_samples": one.facts,
            },
        },
    }


def _result_id(one: PublishedShare) -> str:
    return "accuracy" if one.relation is None else f"accuracy/{one.relation}"


def _answers(published: PublishedShares, evaluation: str, benchmark: str) -> Iterator[Mapping[str, Any]]:
    """Yield a line for each fact with an answer, of the share of all facts."""
    for outcome in published.measurement.outcomes:
        if outcome.verdict.counts and outcome.evidence is not None:
            yield _answer(outcome, outcome.evidence, published.model_id, evaluation, benchmark)


def _answer(outcome: Outcome, evidence: Evidence, model_id: str, evaluation: str, benchmark: str) -> Mapping[str, Any]:
    right = outcome.verdict is Verdict.RIGHT
    text = evidence.alternatives.text
    chosen = evidence.right_answer if right else evidence.prediction or ""
    choices = None
    if text is None:
        choices = [evidence.right_answer, *(name for name, _ in evidence.alternatives.names)]
    reference = [evidence.right_answer]
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation,
        "model_id": model_id,
        "evaluation_name": benchmark,
        "evaluation_result_id": "accuracy",
        "sample_id": outcome.fact.fact,
        "sample_hash": hashlib.sha256("".join([evidence.question, *reference]).encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {
            "raw": evidence.question,
            "formatted": outcome.prompt,
            "reference": reference,
            "choices": choices,
        },
        "output": {"raw": [chosen if text is None else text]},
        "messages": None,
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": chosen,
                "extraction_method": "highest log-probability" if text is None else "names of the graph",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(right), "is_correct": right},
        "metadata": {"subject": outcome.fact.subject, "relation": outcome.relation, "verdict": outcome.verdict.value},
    }
