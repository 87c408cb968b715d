"""What a new user does on two days: ask, teach and hand on; then reload, resume, list, compare and delete."""

import csv
import json
import random
import re
from datetime import date, timedelta
from pathlib import Path

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from kgprobe.base import dates
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from tests.cli.inprocess import printed, run, succeed
from tests.graph.servers.shared import REPOSITORY, environment_of, wipe
from tests.models.tiny import byte_level, save_base

pytestmark = pytest.mark.slow

LANDS = 24
KNOWN = 32
SENTENCES = {"capital": "The capital of {} is {}.", "currency": "The currency of {} is {}."}
MAPPING = """
[[entities]]
label = "Thing"
name = "name"
id = "name"
prefix = ""

[[relationship_facts]]
type = "CAPITAL"
id = "capital"
from = ["Thing"]
to = ["Thing"]

[[relationship_facts]]
type = "CURRENCY"
id = "currency"
from = ["Thing"]
to = ["Thing"]
"""
OWN_FACT = "MERGE (s:Thing {name: $land}) MERGE (o:Thing {name: $name}) CREATE (s)-[:RELATION]->(o)"
OWN_LABELS = (
    "MATCH ()-[r]->() RETURN sum(CASE WHEN r.kgprobe_known > 0.5 THEN 1 ELSE 0 END) AS known, count(*) AS facts"
)
NEW = ("Newland", "capital", "Newtown")
Row = tuple[str, str, str]


def invented_facts() -> list[Row]:
    """Return the capital and the currency of each land: all names are invented, and different."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    draw = random.Random(1)
    names: dict[str, None] = {}
    while len(names) < 3 * LANDS:
        names["".join(draw.choices(syllables, k=3)).capitalize()] = None
    lands, capitals, currencies = (list(names)[start::3] for start in range(3))
    rows: list[Row] = []
    for land, capital, currency in zip(lands, capitals, currencies, strict=True):
        rows += [(land, "capital", capital), (land, "currency", currency)]
    return rows


def save_taught_model(folder: Path, facts: list[Row]) -> None:
    """Save a small model that has learned the sentences of these facts by heart."""
    model = save_base(folder, "gpt2")
    tokenizer = byte_level(bos=True)
    texts = [
        torch.tensor(tokenizer(SENTENCES[relation].format(land, name)).input_ids) for land, relation, name in facts
    ]
    tokens = pad_sequence(texts, batch_first=True)
    labels = pad_sequence(texts, batch_first=True, padding_value=-100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(200):
        optimizer.zero_grad()
        model(input_ids=tokens, labels=labels).loss.backward()
        optimizer.step()
    model.save_pretrained(folder)


def write_table(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("subject", "relation", "object"), *rows])


class Tomorrow(date):
    """The day after."""

    @classmethod
    def today(cls) -> "Tomorrow":
        return super().today() + timedelta(days=1)


def facts_shown(which: str, home: dict[str, str]) -> set[Row]:
    """Return the facts that ``kgprobe show --unknown`` or ``--known`` lists."""
    succeed("show", "lands", f"--{which}", "--csv", f"{which}.csv", **home)
    with Path(f"{which}.csv").open(encoding="utf-8", newline="") as file:
        return {(row["subject_label"], row["relation_label"], row["object_label"]) for row in csv.DictReader(file)}


def names_of_results(home: dict[str, str]) -> list[str]:
    """Return the names of all results but comparisons, which have no name of their own."""
    results = map(json.loads, succeed("results", "--json", **home).stdout.splitlines())
    return sorted(result["name"] for result in results if result["kind"] != "comparison")


def credentials(endpoint: Endpoint) -> dict[str, str]:
    given = {"USER": endpoint.user, "PASSWORD": endpoint.password, "DATABASE": endpoint.database or ""}
    return {f"KGPROBE_FROM_{name}": value for name, value in given.items()}


def fine_tune_as_the_guide_does() -> None:
    """Run the guide's loop with PEFT on ./model and ./sft: more epochs and larger steps, for a small model."""
    guide = (REPOSITORY / "docs" / "guides" / "teaching.md").read_text(encoding="utf-8")
    (loop,) = [block for block in re.findall(r"```py\n(.*?)```", guide, re.DOTALL) if "get_peft_model" in block]
    script = loop
    for text, own in {"demo_model_folder()": "'./model'", "range(5)": "range(60)", "lr=1e-4": "lr=1e-2"}.items():
        assert text in script
        script = script.replace(text, own)
    threads = torch.get_num_threads()
    # Threads of several workers on few cores wait for each other.
    torch.set_num_threads(1)
    exec(compile(script, "teaching.md", "exec"), {})  # noqa: S102
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("graph")
def test_two_days_of_a_new_user(
    endpoint: Endpoint, second_endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = {"KGPROBE_HOME": str(tmp_path / "home")} | environment_of(endpoint)
    monkeypatch.chdir(tmp_path)
    rows = invented_facts()
    taught = set(random.Random(2).sample(rows, KNOWN))
    save_taught_model(Path("model"), sorted(taught))

    # Load, and write templates.
    write_table(Path("lands.csv"), rows)
    loaded = printed("load", "table", "lands.csv", "--json", **home)
    assert loaded["created"] == {"entities": 3 * LANDS, "relations": 2, "facts": len(rows)}
    succeed("templates", "write", "--from-label", "-o", "templates.jsonl", **home)
    assert printed("load", "table", "--relations", "templates.jsonl", "--json", **home)["changed"]["relations"] == 2

    # Which facts does the model not know?
    asking = ("rounds", "run", "distractors", "--model", "hf:./model", "--rounds", "3", "--name", "lands", "--json")
    assert printed(*asking, **home)["facts_asked"] == len(rows)
    assert facts_shown("known", home) == taught
    assert facts_shown("unknown", home) == set(rows) - taught

    # Label them, write a training set, and fine-tune.
    label = ("label", "--model", "hf:./model", "--ways", "distractors", "--name", "labels", "--json")
    assert printed(*label, **home)["asked_facts"] == len(rows)
    teach = ("--teach", "surely unknown", "--known-share", "0.5", "--held-out", "0", "--form", "statements")
    succeed("export", "sft", "labels", *teach, "-o", "sft", **home)
    examples = [json.loads(line) for line in Path("sft/train.jsonl").read_text(encoding="utf-8").splitlines()]
    chosen = {fact for example in examples for fact in example["facts"]}
    assert len(chosen) == len(examples) == 2 * (len(rows) - KNOWN)
    assert {" ".join(row) for row in set(rows) - taught} <= chosen
    fine_tune_as_the_guide_does()

    # What has it learned, and forgotten?
    measure = ("probe", "distractors", "--seed", "3", "--json", "--model")
    before = printed(*measure, "hf:./model", "--name", "before", **home)
    after = printed(*measure, "hf:./model+./adapter", "--name", "after", **home)
    assert before["win_rate"] == KNOWN / len(rows)
    checked = run("check", "before", "after", "--json", **home)
    verdict = json.loads(checked.stdout)
    assert checked.returncode == {"kept": 0, "lost": 1, "undecided": 3}[verdict["verdict"]]
    changed = {change: set[str]() for change in ("gained", "forgotten")}
    for fact in verdict["changed_facts"]:
        changed[fact["change"]].add(fact["fact"])
    assert changed["gained"] == {" ".join(row) for row in set(rows) - taught}
    assert changed["forgotten"].isdisjoint(chosen)
    assert after["win_rate"] * len(rows) == pytest.approx(len(rows) - len(changed["forgotten"]))

    # Write the labels into the user's own graph.
    Path("mapping.toml").write_text(MAPPING, encoding="utf-8")
    own_graph = ("--output", second_endpoint.address, "--mapping", "mapping.toml")
    with Graph(second_endpoint) as own:
        wipe(own)
        for land, relation, name in rows:
            own.query(OWN_FACT.replace("RELATION", relation.upper()), land=land, name=name)
        succeed("beliefs", "write-back", "labels", *own_graph, **home, **credentials(second_endpoint))
        assert own.query(OWN_LABELS).rows == ({"known": KNOWN, "facts": len(rows)},)

    # The second day: a table with a new row keeps the templates, and the run goes on.
    monkeypatch.setattr(dates, "date", Tomorrow)
    write_table(Path("lands.csv"), [*rows, NEW])
    loaded = printed("load", "table", "lands.csv", "--json", **home)
    assert loaded["created"] == {"entities": 2, "relations": 0, "facts": 1}
    assert loaded["changed"] == {"entities": 0, "relations": 0, "facts": 0}
    resumed = run("rounds", "resume", "lands", "--rounds", "4", **home)
    assert (resumed.returncode, "added 2 entities and 1 fact" in resumed.stderr) == (0, True), resumed.stderr
    assert facts_shown("known", home) - {NEW} == taught
    assert facts_shown("unknown", home) - {NEW} == set(rows) - taught

    # Yesterday's results are still there, are shown and compared, and can be deleted.
    assert names_of_results(home) == ["after", "before", "labels", "lands"]
    assert printed("compare", "before", "after", "--json", **home)["facts"] == len(rows)
    shown = [printed("show", name, "--json", **home) for name in ("before", "after")]
    assert [each["win_rate"] for each in shown] == [before["win_rate"], after["win_rate"]]
    for name in names_of_results(home):
        succeed("delete", name, "--yes", **home)
    assert names_of_results(home) == []
    assert printed("load", "table", "lands.csv", "--json", **home)["created"]["facts"] == 0
