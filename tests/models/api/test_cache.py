"""Answers on disk: kept, found again, shared by several programs."""

import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.models.api.cache import AnswerCache, answer_cache_path
from kgprobe.models.generating.generator import Answer

REQUEST = {"model": "m", "url": "http://localhost/v1", "prompt": "Why?", "max_tokens": 8, "temperature": 0.0}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> AnswerCache:
    return AnswerCache(tmp_path_factory.mktemp("cache") / "answers.sqlite")


@given(
    prompt=st.text(st.characters()),
    text=st.text(st.characters(exclude_categories=["Cs"])),
    refused=st.booleans(),
    ended=st.booleans(),
    tokens=st.integers(0, 10**9),
)
def test_what_is_kept_is_found(
    cache: AnswerCache, prompt: str, text: str, refused: bool, ended: bool, tokens: int
) -> None:
    request = REQUEST | {"prompt": prompt, "seed": tokens, "also": [text, refused, ended]}
    answer = Answer(text, refused, ended, tokens, tokens + 1)
    assert cache.get(request) is None or cache.get(request) == replace(answer, cached=True)
    cache.put(request, answer)
    assert cache.get(request) == replace(answer, cached=True)
    # The latest stays: who asks again wants to know anew.
    cache.put(request, replace(answer, text="other"))
    assert cache.get(request) == replace(answer, text="other", cached=True)
    cache.put(request, answer)


@pytest.mark.parametrize("name", REQUEST)
def test_whatever_an_answer_depends_on_tells_requests_apart(name: str, tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "answers.sqlite")
    cache.put(REQUEST, Answer("Because."))
    assert cache.get(dict(reversed(REQUEST.items()))) is not None
    assert cache.get(REQUEST | {name: "other"}) is None


def test_several_programs_use_one_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.sqlite"
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from kgprobe.models.api.cache import AnswerCache\nfrom kgprobe.models.generating.generator import Answer\n"
        "cache = AnswerCache(Path(sys.argv[1]))\n"
        "for number in range(300):\n"
        "    cache.put({'prompt': number % 150, 'who': sys.argv[2] if number >= 150 else ''}, Answer(str(number)))\n"
    )
    programs = [subprocess.Popen([sys.executable, "-c", program, str(path), str(who)]) for who in range(3)]
    assert [one.wait(300) for one in programs] == [0, 0, 0]
    assert len(AnswerCache(path)) == 150 + 3 * 150


def test_file_that_is_none_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_text("This is no database, but long enough to look like one." * 100)
    with pytest.raises(KgprobeError, match=r"answers\.sqlite cannot be opened"):
        AnswerCache(path)


def test_by_default_it_lies_with_everything_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    assert answer_cache_path() == tmp_path / "answers.sqlite"


@pytest.mark.parametrize("before", [None, 0o644])
def test_answers_are_for_their_owner_alone(tmp_path: Path, before: int | None) -> None:
    path = tmp_path / "answers.sqlite"
    if before:
        path.touch()
        path.chmod(before)
    cache = AnswerCache(path)
    cache.put(REQUEST, Answer("Because."))
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["answers.sqlite", "answers.sqlite-shm", "answers.sqlite-wal"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
