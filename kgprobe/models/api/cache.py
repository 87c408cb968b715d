"""Answers that were paid for, kept on disk: asked again, they cost nothing.

An answer belongs to a model, its address, the prompt and what was asked for with it. It is written the moment it comes,
and a program that is killed loses none that was written; several programs may use one file.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

from kgprobe.errors import KgprobeError
from kgprobe.files import home, make_folder, owner_only
from kgprobe.models.generating.generator import Answer

_PATIENCE = 60.0
_PAUSE = 0.02
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answer (
    key BLOB PRIMARY KEY,
    request TEXT NOT NULL,
    text TEXT NOT NULL,
    refused INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL
) WITHOUT ROWID
"""


def answer_cache_path() -> Path:
    """Where answers are kept by default."""
    return home() / "answers.sqlite"


class AnswerCache:
    """A file of answers, for its owner alone."""

    def __init__(self, path: Path) -> None:
        """Opens the file, and makes it where there is none.

        Raises:
            KgprobeError: it cannot be opened, or is no file of answers.
        """
        self._path = path
        make_folder(path.parent)
        try:
            # SQLite gives the files that it makes beside this one the same mode.
            with open(path, "ab", opener=owner_only):
                path.chmod(0o600)
            # Without transactions of Python's own, every statement is one. It is used by one thread at a time.
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            # A program can be killed at any moment; a machine that loses power may forget the last answers.
            _use_write_ahead_log(self._connection)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise self._failure("opened", error) from error

    def get(self, request: Mapping[str, object]) -> Answer | None:
        """The answer to a request, marked as cached; None if it was not kept.

        Args:
            request: everything that the answer depends on, as JSON has it; no secret.

        Raises:
            KgprobeError: the file cannot be read.
        """
        try:
            row = self._connection.execute(
                "SELECT text, refused, ended, prompt_tokens, completion_tokens FROM answer WHERE key = ?",
                (_key(_text(request)),),
            ).fetchone()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        if row is None:
            return None
        text, refused, ended, prompt_tokens, completion_tokens = row
        return Answer(text, bool(refused), bool(ended), prompt_tokens, completion_tokens, cached=True)

    def put(self, request: Mapping[str, object], answer: Answer) -> None:
        """Keep an answer, in place of one that was kept before.

        Raises:
            KgprobeError: the file cannot be written.
        """
        text = _text(request)
        row = (_key(text), text, answer.text, answer.refused, answer.ended)
        try:
            self._connection.execute(
                "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, answer.prompt_tokens, answer.completion_tokens),
            )
        except sqlite3.Error as error:
            raise self._failure("written", error) from error

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM answer").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _failure(self, done: str, error: sqlite3.Error | OSError) -> KgprobeError:
        return KgprobeError(f"The file of answers {self._path} cannot be {done}: {error}. Without it nothing is kept.")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Set the journal mode, and wait for other programs that do so: SQLite's own timeout does not count here."""
    given_up = time.monotonic() + _PATIENCE
    while not _has_write_ahead_log(connection):
        if time.monotonic() > given_up:
            raise sqlite3.OperationalError("database is locked")
        time.sleep(_PAUSE)


def _has_write_ahead_log(connection: sqlite3.Connection) -> bool:
    """Set the journal mode; False where another program holds the file at the moment."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    return True


def _text(request: Mapping[str, object]) -> str:
    return json.dumps(request, sort_keys=True, ensure_ascii=True)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
