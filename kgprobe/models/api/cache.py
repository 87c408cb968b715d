"""Cache of answers on disk, so that a repeated request costs nothing.

The key of an answer contains model, address, prompt and parameters. Each answer is written immediately, and survives if
the program is killed. Several programs can use one file.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home, make_folder, owner_only
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
# Thoughts before answers; most answers have none.
_THOUGHTS = """
CREATE TABLE IF NOT EXISTS thought (
    key BLOB PRIMARY KEY,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    cut INTEGER NOT NULL
) WITHOUT ROWID
"""
_GET = """
SELECT a.text, a.refused, a.ended, a.prompt_tokens, a.completion_tokens,
       coalesce(t.text, ''), coalesce(t.tokens, 0), coalesce(t.cut, 0)
FROM answer a LEFT JOIN thought t ON t.key = a.key WHERE a.key = ?
"""


def answer_cache_path() -> Path:
    """Return the default path of the cache."""
    return home() / "answers.sqlite"


class AnswerCache:
    """A file of answers, readable only by its owner.

    Attributes:
        path: path of the file.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, and create it if necessary.

        Raises:
            KgprobeError: The file cannot be opened, or has another format.
        """
        self.path = path
        make_folder(path.parent)
        try:
            # SQLite creates its auxiliary files with the same mode.
            with open(path, "ab", opener=owner_only):
                path.chmod(0o600)
            # In autocommit mode, every statement is a transaction. Only one thread at a time uses the connection.
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            # A program can be killed at any moment; a machine that loses power may forget the last answers.
            _use_write_ahead_log(self._connection)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(_SCHEMA)
            self._connection.execute(_THOUGHTS)
        except (sqlite3.Error, OSError) as error:
            raise self._failure("opened", error) from error

    def get(self, request: Mapping[str, object]) -> Answer | None:
        """Return the cached answer to a request, or None.

        Args:
            request: everything that the answer depends on, as JSON values without secrets.

        Raises:
            KgprobeError: The file cannot be read.
        """
        try:
            row = self._connection.execute(_GET, (_key(_text(request)),)).fetchone()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        if row is None:
            return None
        text, refused, ended, prompt_tokens, completion_tokens, thought, thought_tokens, cut = row
        return Answer(
            text,
            bool(refused),
            bool(ended),
            prompt_tokens,
            completion_tokens,
            cached=True,
            thought=thought,
            thought_tokens=thought_tokens,
            thought_cut=bool(cut),
        )

    def put(self, request: Mapping[str, object], answer: Answer) -> None:
        """Store an answer, replacing an earlier one.

        Raises:
            KgprobeError: The file cannot be written.
        """
        text = _text(request)
        row = (_key(text), text, answer.text, answer.refused, answer.ended)
        try:
            # First the thought: an answer is complete at any moment.
            if answer.thought or answer.thought_tokens or answer.thought_cut:
                thought = (_key(text), answer.thought, answer.thought_tokens, answer.thought_cut)
                self._connection.execute("INSERT OR REPLACE INTO thought VALUES (?, ?, ?, ?)", thought)
            else:
                self._connection.execute("DELETE FROM thought WHERE key = ?", (_key(text),))
            self._connection.execute(
                "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, answer.prompt_tokens, answer.completion_tokens),
            )
        except sqlite3.Error as error:
            raise self._failure("written", error) from error

    def has(self, key: str) -> bool:
        """Return True if the file has an answer under a key of :func:`answer_key`.

        Raises:
            KgprobeError: The file cannot be read.
        """
        try:
            row = self._connection.execute("SELECT 1 FROM answer WHERE key = ?", (bytes.fromhex(key),)).fetchone()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        return row is not None

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM answer").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _failure(self, done: str, error: sqlite3.Error | OSError) -> KgprobeError:
        return KgprobeError(f"The answer cache {self.path} cannot be {done}: {error}. No answers can be stored.")


def answer_key(request: Mapping[str, object]) -> str:
    """Return the key of a request's answer, 64 hexadecimal digits.

    >>> answer_key({"model": "m", "prompt": "Why?"})[:8]
    '18f12ad0'
    """
    return _key(_text(request)).hex()


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Set the journal mode, and wait for other programs that do so: SQLite's timeout does not apply here."""
    given_up = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > given_up:
                raise
        time.sleep(_PAUSE)


def _text(request: Mapping[str, object]) -> str:
    return json.dumps(request, sort_keys=True, ensure_ascii=True)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
