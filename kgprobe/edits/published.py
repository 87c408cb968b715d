"""Questions of published edits: the files that EasyEdit reads, CounterFact, and RippleEdits.

EasyEdit: Wang et al. 2023 (arXiv 2308.07269), with the keys of KnowEdit (arXiv 2401.01286), ZsRE and WikiBigEdit.
CounterFact: Meng et al. 2022 (arXiv 2202.05262). RippleEdits: Cohen et al. 2024 (arXiv 2307.12976), whose six criteria
become kinds. The prompts are those of the files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from kgprobe.edits import CONDITION, EFFICACY, GENERALITY, LOCALITY, PORTABILITY
from kgprobe.edits.edit_files import (
    COUNTERFACT,
    EASYEDIT,
    PROMPT_KEYS,
    RIPPLEEDITS,
    TARGET_KEYS,
    EditFile,
    Record,
    text_of,
)
from kgprobe.edits.questions import NEW, OLD, EditQuestion, Form, NamedAnswer
from kgprobe.verbalize.answers import normalized

ALIAS, PARAPHRASE = "subject alias", "paraphrase"
SAME_SUBJECT, SAME_RELATION, OTHER_OBJECTS = "same subject", "same relation", "other objects"
TWO_HOPS, TO_SUBJECT, LOGICAL, INVERSE = "two hops", "two hops to the subject", "logical generalisation", "inverse"

# Group and kind of the criteria, by lower-case key; EasyEdit and RippleEdits share most of them.
_CRITERIA = {
    "subject_aliasing": (GENERALITY, ALIAS),
    "relation_specificity": (LOCALITY, SAME_SUBJECT),
    # A misspelling of the published documentation.
    "relation_specifity": (LOCALITY, SAME_SUBJECT),
    "neighborhood": (LOCALITY, SAME_RELATION),
    "forgetfulness": (LOCALITY, OTHER_OBJECTS),
    "reasoning": (PORTABILITY, TWO_HOPS),
    "compositionality_i": (PORTABILITY, TWO_HOPS),
    "compositionality_ii": (PORTABILITY, TO_SUBJECT),
    "logical_generalization": (PORTABILITY, LOGICAL),
    "inverse_relation": (PORTABILITY, INVERSE),
    "inverse": (PORTABILITY, INVERSE),
}
# Prefix of locality questions in ZsRE.
_NATURAL_QUESTION = "nq question:"
_YES_NO = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}


@dataclass(slots=True)
class _Writer:
    """Questions of one edit, numbered by kind."""

    edit: str
    about: str
    questions: list[EditQuestion] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        group: str,
        kind: str,
        prompt: str,
        expected: Sequence[Sequence[str]],
        wrong: Sequence[tuple[Sequence[str], str]] = (),
        **others: Any,
    ) -> str | None:
        """Add a question and return its id; None if it has no prompt or no answer."""
        prompt = _prompt_of(prompt)
        right = [tuple(filter(str.strip, names)) for names in expected]
        right = [names for names in right if names]
        if not prompt or not right:
            return None
        self.counts[kind] = self.counts.get(kind, 0) + 1
        form: Form = "question" if prompt.endswith("?") else "text"
        answers = tuple(map(NamedAnswer, right))
        others_wrong = tuple(NamedAnswer(tuple(names), role) for names, role in wrong if names)
        verdict = _verdict_of(right)
        if form == "question" and verdict is not None:
            form, answers, others_wrong = "yes/no", (NamedAnswer((verdict,)),), ()
        question = EditQuestion(
            id=f"{self.edit}/{kind.replace(' ', '-')}/{self.counts[kind]}",
            edit=self.edit,
            about=self.about,
            group=group,
            kind=kind,
            prompt=prompt,
            form=form,
            expected=answers,
            wrong=others_wrong,
            **others,
        )
        self.questions.append(question)
        return question.id


def _verdict_of(answers: Sequence[Sequence[str]]) -> str | None:
    """Return yes or no if answers contain one of the two words; else None."""
    verdicts = set()
    for names in answers:
        verdicts |= {_YES_NO[name] for name in map(normalized, names) if name in _YES_NO}
    return verdicts.pop() if len(verdicts) == 1 else None


def published_questions(file: EditFile) -> tuple[list[EditQuestion], list[str]]:
    """Return the questions of a published file, and messages about records that give none."""
    writers: Mapping[str, Callable[[Record, str], list[EditQuestion]]] = {
        EASYEDIT: _of_easyedit,
        COUNTERFACT: _of_counterfact,
        RIPPLEEDITS: _of_rippleedits,
    }
    questions: list[EditQuestion] = []
    problems = []
    for number, record in file.records:
        record_questions = writers[file.format](record, f"e{number}")
        if not any(question.group == EFFICACY for question in record_questions):
            problems.append(f"record {number}: the sentence of its edit does not give the new object; skipped.")
            continue
        questions += record_questions
    return questions, problems


def _of_easyedit(record: Record, edit: str) -> list[EditQuestion]:
    prompt, target = text_of(record, PROMPT_KEYS), text_of(record, TARGET_KEYS)
    old = _answers(record.get("ground_truth") or record.get("answers"))
    writer = _Writer(edit, _about(prompt, target, old))
    against = [(names, OLD) for names in old if normalized(names[0]) != normalized(target)]
    writer.add(EFFICACY, EFFICACY, prompt, [[target]], against)
    for paraphrase in _texts(record.get("rephrase_prompt") or record.get("rephrase")):
        writer.add(GENERALITY, PARAPHRASE, paraphrase, [[target]], against)
    for group, key in ((PORTABILITY, "portability"), (LOCALITY, "locality")):
        for name, criterion_prompt, truth in _criteria(record.get(key)):
            own_group, kind = _CRITERIA.get(name.lower(), (group, name.replace("_", " ").lower()))
            wrong = against if own_group == GENERALITY else ()
            writer.add(own_group, kind, criterion_prompt, _answers(truth), wrong)
    writer.add(
        LOCALITY,
        SAME_RELATION if "locality_prompt" in record else "unrelated",
        text_of(record, ("locality_prompt", "loc")),
        _answers(record.get("locality_ground_truth") or record.get("loc_ans")),
    )
    writer.add(PORTABILITY, TWO_HOPS, text_of(record, ["mhop"]), _answers(record.get("mhop_ans")))
    writer.add(GENERALITY, "persona", text_of(record, ["personas"]), [[target]])
    return writer.questions


def _criteria(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield name, prompt and answers of the questions under ``portability`` or ``locality``."""
    if not isinstance(value, dict):
        return
    if "New Question" in value:
        yield "Reasoning", str(value["New Question"]), value.get("New Answer")
        return
    for name, content in value.items():
        for item in content if isinstance(content, list) else [content]:
            if not isinstance(item, dict):
                continue
            prompts, truths = item.get("prompt"), item.get("ground_truth")
            if isinstance(prompts, list) and isinstance(truths, list) and len(prompts) == len(truths):
                for prompt, truth in zip(prompts, truths, strict=True):
                    yield name, str(prompt), truth
            else:
                for prompt in _texts(prompts):
                    yield name, prompt, truths


def _of_counterfact(record: Record, edit: str) -> list[EditQuestion]:
    rewrite = record["requested_rewrite"]
    subject, target = rewrite["subject"], rewrite["target_new"]["str"]
    truth = rewrite.get("target_true")
    old = [[truth["str"]]] if isinstance(truth, dict) and text_of(truth, ["str"]) else []
    prompt = str(rewrite["prompt"]).replace("{}", subject)
    writer = _Writer(edit, _about(prompt, target, old))
    against = [(names, OLD) for names in old]
    writer.add(EFFICACY, EFFICACY, prompt, [[target]], against)
    for paraphrase in _texts(record.get("paraphrase_prompts")):
        writer.add(GENERALITY, PARAPHRASE, paraphrase, [[target]], against)
    # The neighbours are other subjects with the old object.
    for neighbour in _texts(record.get("neighborhood_prompts")):
        writer.add(LOCALITY, SAME_RELATION, neighbour, old, [([target], NEW)])
    return writer.questions


def _of_rippleedits(record: Record, edit: str) -> list[EditQuestion]:
    change = record["edit"]
    new = _names_of(record, change["target_id"])
    original = change.get("original_fact")
    original = original if isinstance(original, dict) else {}
    prompt, target, former = _cloze_of(change["prompt"], text_of(original, ["prompt"]), new)
    if not prompt or not target:
        return []
    names = list(dict.fromkeys([target, *new]))
    old = list(dict.fromkeys(filter(None, [former, *_names_of(record, original.get("target_id"))])))
    writer = _Writer(edit, _about(prompt, target, [old] if old else []))
    against = [(old, OLD)] if old else []
    writer.add(EFFICACY, EFFICACY, prompt, [names], against)
    conditions: dict[str, str | None] = {}
    for criterion, content in record.items():
        group, kind = _CRITERIA.get(criterion.lower(), ("", ""))
        if not group or not isinstance(content, list):
            continue
        for number, test in enumerate(content, start=1):
            if isinstance(test, dict):
                _add_test(writer, group, kind, test, f"{edit}/{criterion}/{number}", conditions)
    return writer.questions


def _add_test(
    writer: _Writer, group: str, kind: str, test: Record, case: str, conditions: dict[str, str | None]
) -> None:
    """Add a test of RippleEdits with its conditions; an answer must name all objects of a query."""
    needs = []
    for query in _records(test.get("condition_queries")):
        prompt = str(query.get("prompt"))
        if prompt not in conditions:
            conditions[prompt] = writer.add(CONDITION, CONDITION, prompt, _values(query), every=True)
        if conditions[prompt] is not None:
            needs.append(str(conditions[prompt]))
    queries = _records(test.get("test_queries"))
    several: dict[str, Any] = (
        {"case": case, "all_of_case": test.get("test_condition") == "AND"} if len(queries) > 1 else {}
    )
    for query in queries:
        prompt = str(query.get("prompt") or query.get("phrase") or "")
        writer.add(group, kind, prompt, _values(query), every=True, needs=tuple(needs), **several)


def _cloze_of(sentence: str, original: str, names: Sequence[str]) -> tuple[str, str, str]:
    """Return the sentence of an edit up to its object, the object, and the original object; empty if unknown."""
    bare = sentence.strip().rstrip(".")
    for name in sorted(names, key=len, reverse=True):
        if bare.endswith(f" {name.rstrip('.')}"):
            prompt = bare.removesuffix(name.rstrip(".")).strip()
            return prompt, name, original.strip().removeprefix(prompt).strip().rstrip(".")
    # Both sentences are of one template: they differ in the object.
    words, others = bare.split(" "), original.strip().rstrip(".").split(" ")
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False)))
    if not original or not shared:
        return "", "", ""
    return " ".join(words[:shared]), " ".join(words[shared:]), " ".join(others[shared:])


def _names_of(record: Record, entity: Any) -> list[str]:
    """Return the names of an entity in the answers of a record of RippleEdits; empty if no query has it as target."""
    for content in record.values():
        for test in _records(content):
            for query in _records(test.get("test_queries")) + _records(test.get("condition_queries")):
                targets = query.get("second_hop_target_ids", query.get("target_ids"))
                values = _values(query)
                if isinstance(targets, list) and entity in targets and len(values) == len(targets):
                    return values[targets.index(entity)]
    return []


def _values(query: Record) -> list[list[str]]:
    """Return the names of each answer of a query; names of one character count only if they are digits."""
    answers = []
    for answer in _records(query.get("answers")):
        names = [str(answer.get("value") or ""), *_texts(answer.get("aliases"))]
        answers.append([name for name in names if len(name) > 1 or name.isdigit()])
    return answers


def _records(value: Any) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    """Return a text, or the texts of a list."""
    values = value if isinstance(value, list) else [value]
    return [text.strip() for text in values if isinstance(text, str) and text.strip()]


def _answers(value: Any) -> list[list[str]]:
    """Return the names of each answer: of a text, a list of texts, or a list of lists of names."""
    if not isinstance(value, list):
        value = [value]
    answers = [[str(names)] if isinstance(names, (str, int, float)) else _texts(names) for names in value]
    return [names for names in answers if any(map(str.strip, names))]


def _prompt_of(text: str) -> str:
    """Return a prompt without the prefix of ZsRE's locality questions, which lack a question mark."""
    prompt = text.strip()
    if prompt.lower().startswith(_NATURAL_QUESTION):
        prompt = prompt[len(_NATURAL_QUESTION) :].strip().rstrip("?") + "?"
    return prompt


def _about(prompt: str, target: str, old: Sequence[Sequence[str]]) -> str:
    was = f" (was {old[0][0]})" if old else ""
    return f"{prompt} {target}{was}"
