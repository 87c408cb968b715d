"""Wrong usage of commands: an exit code and a message that names the fault, before anything is asked or printed."""

from pathlib import Path

import pytest

from kgprobe.judge.files import save_judge
from kgprobe.labelling.table import write_label_table
from tests.cli.inprocess import run
from tests.judge.judged_files import judged, write_judged_graph
from tests.judge.test_files import judge
from tests.labelling.test_table import CONFIG, FRANCE
from tests.stored import store_measurement

API = "openai:m@http://127.0.0.1:9/v1"
PARIS = ("--fact", "Q142 P36 Q90")
DISTRACTORS = ("probe", "distractors", "--model", "MODEL")
DEMO = ("--model", "demo")
NEIGHBOURS = ("graph", "query", "explore/neighbours", "--param")

# Arguments, the exit code, a part of the message. MODEL is a small model.
WRONG = [
    (("dataset", "build", "new", "--min-facts", "9000"), 1, "--min-facts and --min-objects are the thresholds"),
    (("dataset", "build", "new", "--relation", "P99"), 2, "P99"),
    (("dataset", "probe", "nowhere", *DEMO, "--examples", "0"), 2, "--examples"),
    (("dataset", "probe", "nowhere", *DEMO, "--ray", "0"), 2, "--ray"),
    (("dataset", "probe", "nowhere", "--model", API, "--ray", "2"), 2, f"--ray is 2; {API} is behind an API"),
    (("chek",), 2, "(did you mean check?)."),
    (("estimate", "nobody"), 2, "Unknown run 'nobody'"),
    (("estimate", "nobody", "--precision", "2"), 2, "--precision is 2, which is not a share; write 2% or 0.02."),
    (("graph", "browser", "--no-open", "--graph", "bolt://localhost:7687", "--host", "two words"), 2, "--host is"),
    (("graph", "browser", "--no-open", "--graph", "bolt://localhost:7687", "--host", "a:80"), 2, "--host is"),
    (("graph", "query", "RETURN 1 AS n", "--json", "--format", "csv"), 2, "--json and --format csv exclude each other"),
    (("graph", "query", "explore/neighbours"), 2, "explore/neighbours needs the parameter id"),
    ((*NEIGHBOURS, "id=Q1", "--param", "ide=Q1"), 2, "no parameter ide; it takes id"),
    ((*NEIGHBOURS, "id"), 2, "'id' is not of the form name=value"),
    (("graph", "query", "relations"), 2, "There is no query or file 'relations'"),
    (("graph", "query", "./my queries.cypher"), 2, "There is no query or file './my queries.cypher'"),
    (("graph", "query", "q.cypher"), 2, "There is no query or file 'q.cypher'"),
    (("graph", "start", "--graph", "bolt://somewhere:7687"), 1, "is a remote server"),
    (("graph", "start", "--memory", "2"), 2, "--memory"),
    (("graph", "start", "--memory", "lots"), 2, "--memory"),
    (("graph", "start", "--memory", "8m"), 2, "--memory"),
    (("graph", "start", "--memory", "-1g"), 2, "--memory"),
    (("judge", "train", "nowhere"), 2, "No measurement is named 'nowhere'"),
    (("judge", "train", "nowhere", "--test-size", "1"), 2, "--test-size is 1, which is not a share; write 1% or 0.01."),
    (("judge", "train", "nowhere", "--epochs", "0"), 2, "--epochs"),
    (("judge", "evaluate", "nobody", "nowhere"), 2, "No judge is named 'nobody'"),
    (("label", "--model", "MODEL", "--ways", "guesses"), 2, "--ways has 'guesses'; one or more of distractors"),
    (("label", "--model", "MODEL", "--ways", "thinking"), 2, "--ways has thinking, which"),
    (("label", "--model", "MODEL", "--by", "statements"), 2, "--by is 'statements', which is not asked"),
    (("label", "--model", "MODEL", "--judge", "nowhere"), 2, "No judged graph is named 'nowhere'"),
    (("load", "wikidata", "nowhere.json"), 1, "nowhere.json"),
    (("load", "wikidata", "."), 1, "folder"),
    (("load", "wikidata"), 2, "Missing argument"),
    (("load", "nonsense"), 2, "No such command"),
    (("load", "wikdata", "x"), 2, "(did you mean wikidata?)."),
    (("load", "example", "--graph", "bolt://127.0.0.1:9"), 1, "does not answer"),
    (("load", "example", "--graph", "http://127.0.0.1:9"), 1, "neither a folder nor an address"),
    ((*DISTRACTORS, "--sentences", "0"), 2, "--sentences"),
    ((*DISTRACTORS, "--grader", "demo"), 2, "No such option"),
    ((*DISTRACTORS, "--strategy", "best"), 2, "random"),
    ((*DISTRACTORS, "--relation", "P999"), 2, "P999"),
    ((*DISTRACTORS, "--facts", "nowhere.jsonl"), 2, "nowhere.jsonl"),
    ((*DISTRACTORS, "--thinking", "on"), 2, "--thinking"),
    ((*DISTRACTORS, "--as-paper", "grapheval"), 2, "--as-paper is 'grapheval'; expected one of distractors."),
    (("probe", "distractrs"), 2, "(did you mean distractors?)."),
    (("probe", "distractors", "--model", API, "--batch-api"), 2, "No such option"),
    (("probe", "examples", "--model", "MODEL", "--max-subjects", "2"), 2, "--max-subjects is for --inverse"),
    (("probe", "examples", "--model", "MODEL", "--inverse", "--max-subjects", "0.5"), 2, "--max-subjects"),
    (("probe", "generation", "--model", "MODEL", "--thinking", "on"), 2, "--thinking"),
    (("probe", "questions", *DEMO, "--max-cost", "1"), 2, "--input-price and --output-price"),
    (("probe", "questions", *DEMO, "--input-price", "1"), 2, "--output-price is missing: give both"),
    (("probe", "questions", "--model", "openai:gpt"), 1, "set the environment variable OPENAI_API_KEY"),
    (("probe", "questions", *DEMO, "--relation", "P999"), 2, "P999"),
    (("probe", "questions", *DEMO, "--batch-api"), 2, "--batch-api is for models behind an API"),
    (("probe", "questions", "--model", "MODEL", "--thinking", "on"), 2, "has no thinking switch"),
    (("probe", "questions", "--model", "MODEL", "--thinking", "a lot"), 2, "--thinking is 'a lot'; expected off, on"),
    (("probe", "true-false", "--model", "MODEL", "--thinking", "64"), 2, "has no thinking switch"),
    (("report", "nothing-of-it"), 2, "is named 'nothing-of-it'; `kgprobe results` lists all"),
    (("report", "--seed", "-1"), 2, "seed"),
    (("report", "--nonsense"), 2, "No such option"),
    (("rounds", "rum"), 2, "(did you mean run?)."),
    (("rounds", "run", "choises", *DEMO), 2, "(did you mean choices?)."),
    (("rounds", "run"), 2, "distractors"),
    (("rounds", "run", "distractors"), 2, "--model"),
    (("rounds", "run", *DEMO), 2, "Name the probe before --model; one of choices, distractors,"),
    (("rounds", "run", "distractors", "--model", "nonsense"), 2, "nonsense"),
    (("rounds", "run", "distractors", "--model", "hf:./nowhere"), 1, "nowhere"),
    (("rounds", "run", "distractors", *DEMO, "--rounds", "0"), 2, "--rounds"),
    (("rounds", "run", "distractors", *DEMO, "--as-of", "yesterday"), 2, "yesterday"),
    (("rounds", "resume", "nonsense"), 2, "Unknown run 'nonsense'"),
    (("rounds", "nonsense"), 2, "No such command"),
    (("rounds", "run", "questions", *DEMO, "--batch-api"), 2, "No such option"),
    (("rounds", "run", "distractors", "--model", API, "--tokenizer", "demo:2"), 2, "There is no model"),
    (
        ("rounds", "run", "distractors", *DEMO, "--year-relation", "P999"),
        2,
        "No relation of this graph is called 'P999'",
    ),
    (("rounds", "run", "distractors", *DEMO, "--stop-at-width", "nan"), 2, "--stop-at-width is 'nan'; a share is"),
    # Before the first model has been asked anything.
    (("rounds", "run", "questions", *DEMO, "--model", "openai:gpt"), 1, "OPENAI_API_KEY"),
    (("sample", "distractors", "--fact", "Q142 P36 Q64"), 2, "As capital, France (Q142) has Paris (Q90)."),
    (("sample", "negatives", *PARIS, "--replace", "verb"), 2, "relation"),
    (("sample", "negatives", "--fact", "Frnace capital Paris"), 2, "called 'Frnace'; close to it: France (Q142)"),
    (("sample", "questions", "--fact", "France | captial | Paris"), 2, "called 'captial'; close to it: capital"),
    (
        ("sample", "distractors", *PARIS, "--strategy", "exact-optimal"),
        2,
        "--model is missing: exact-optimal needs one",
    ),
    (("sample", "distractors", *PARIS, "--strategy", "best"), 2, "temporal-semantic"),
    (("sample", "distractors", *PARIS, "--distractors", "0"), 2, "--distractors"),
    (("sample", "questions", *PARIS, "--difficulty", "medium"), 2, "easy"),
    (("sample", "facts", "--relation", "P99"), 2, "P99"),
    (("sample", "facts", "--as-of", "soon"), 2, "--as-of"),
    (("show", "nowhere", "--kind", "label-table"), 2, "No label table is named 'nowhere'"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), WRONG)
@pytest.mark.representatives(13)
def test_wrong_usage_is_named_by_its_command(
    home: dict[str, str],
    talker: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*(talker if word == "MODEL" else word for word in arguments), **home, OPENAI_API_KEY="")
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (code, "", False), done.stderr
    assert said in " ".join(done.stderr.split())


UNREACHABLE = {"KGPROBE_GRAPH": "bolt://127.0.0.1:9", "KGPROBE_GRAPH_PASSWORD": "none"}
KEPT = ("--name", "kept")
NEW_FOLDER = ("--output", "nowhere/file")
BROKEN = ("--model", "hf:./broken")

# Faults that need neither a model nor a graph to be found.
CHEAP = [
    (("dataset", "build", "broken"), "FOLDER is 'broken', which exists"),
    (("dataset", "probe", "nowhere", *BROKEN), "No data set is named 'nowhere'"),
    (("dataset", "probe", "nowhere", *BROKEN, *NEW_FOLDER), "the folder nowhere does not exist"),
    (("export", "retrieval", "kept", *NEW_FOLDER), "the folder nowhere does not exist"),
    (("export", "sft", "nowhere", "-o", "sft", "--teach", "unknown"), "No label table is named 'nowhere'"),
    (("judge", "predict", "kept", *BROKEN, *KEPT, "--negatives", "7"), "holds a judged graph made with other settings"),
    (("judge", "predict", "kept", *BROKEN, "--shard", "5/4"), "--shard is '5/4'"),
    (("judge", "train", "kept", *BROKEN, *NEW_FOLDER), "the folder nowhere does not exist"),
    (("label", *BROKEN, "--judge", "nowhere"), "No judged graph is named 'nowhere'"),
    (("label", *BROKEN, "--name", "a/b"), "'--name': is 'a/b'"),
    (("label", *BROKEN, "--ways", "recall", "--by", "distractors"), "--by is 'distractors', which is not asked"),
    (("label", *BROKEN, "-o", "nowhere/labels.csv"), "the folder nowhere does not exist"),
    (("label", *BROKEN, *KEPT), "holds a label table made with other settings (model was 'demo'"),
    (("label", "--model", "hf:./nowhere"), "nowhere does not exist"),
    (("probe", "distractors", "--model", "hf:./nowhere"), "nowhere does not exist"),
    (("probe", "distractors", "--model", "hf:gpt2+./nowhere"), "nowhere does not exist"),
    (("probe", "distractors", *BROKEN, *KEPT), "holds a measurement made with other settings"),
    (("probe", "questions", *BROKEN, "--grader", "hf:./nowhere"), "nowhere does not exist"),
    (("report", *NEW_FOLDER), "the folder nowhere does not exist"),
    (("rounds", "run", "distractors", *BROKEN, "--model", "hf:./nowhere"), "nowhere does not exist"),
    (("rounds", "run", "distractors", *BROKEN, "--name", "a/b"), "'--name': is 'a/b'"),
    (("rounds", "run", "questions", *BROKEN, "--grader", "nonsense"), "There is no model 'nonsense'"),
    (("sample", "facts", "--sentences", "1", *NEW_FOLDER), "the folder nowhere does not exist"),
    (("show", "kept", "--kind", "measurement", "--csv", "nowhere/facts.csv"), "the folder nowhere does not exist"),
    (("study", "examples", "--model", "hf:./nowhere"), "nowhere does not exist"),
    (("templates", "write", *BROKEN, *NEW_FOLDER), "the folder nowhere does not exist"),
]


@pytest.mark.parametrize(("arguments", "fault"), CHEAP)
def test_cheap_check_precedes_model_and_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    break_model(tmp_path)
    store_measurement(tmp_path / "probes" / "kept", {"f": True})
    write_label_table(tmp_path / "labels" / "kept", CONFIG, [FRANCE])
    (tmp_path / "judges" / "kept").mkdir(parents=True)
    save_judge(judge(), tmp_path / "judges" / "kept")
    write_judged_graph(tmp_path / "judged" / "kept", [judged("f", 0, [1])])
    done = run(*arguments, **UNREACHABLE, KGPROBE_HOME=str(tmp_path))
    message = " ".join(done.stderr.split())
    assert fault in message
    assert (done.returncode in (1, 2), "127.0.0.1" in message, "valid JSON" in message) == (True, False, False)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("probe", "distractors", *BROKEN, "--facts", "unknown.tsv"), "--facts names no fact of this graph"),
        (("label", *BROKEN, "--relation", "P999"), "P999"),
        (("sample", "distractors", *BROKEN, "--fact", "Narnia | capital | Paris"), "called 'Narnia'"),
        (("study", "examples", *BROKEN, "--relation", "P999"), "P999"),
    ],
)
def test_check_of_graph_precedes_model(
    home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    break_model(tmp_path)
    (tmp_path / "unknown.tsv").write_text("Q17\tP36\tQ90\n", encoding="utf-8")
    done = run(*arguments, **home)
    message = " ".join(done.stderr.split())
    assert (done.returncode in (1, 2), fault in message, "valid JSON" in message) == (True, True, False), message


def break_model(folder: Path) -> None:
    """Write a model that cannot be loaded: its settings are damaged."""
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{", encoding="utf-8")
