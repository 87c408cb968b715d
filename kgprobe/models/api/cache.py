"""Cache of answers on disk, so that a repeated request costs nothing.

The key of an answer contains model, address, prompt and parameters. Each answer is written immediately, and survives if
the program is killed. Several programs can use one file.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home, make_folder, owner_only
from kgprobe.models.generating.generator import Answer

_PATIENCE = 60.0
_PAUSE = 0.02
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answer (key BLOB PRIMARY KEY, request TEXT NOT NULL, content BLOB NOT NULL) WITHOUT ROWID
"""


def answer_cache_path() -> Path:
    """Return the default path of the cache."""
    return home() / "answers.sqlite"


class AnswerCache:
    """A file of answers, readable only by its owner."""

    def __init__(self, path: Path) -> None:
        """Open the file, and create it if necessary."""
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
            # A file of another format lacks the column.
            self._connection.execute("SELECT content FROM answer LIMIT 0")
        except (sqlite3.Error, OSError) as error:
            raise self._failure("opened", error) from error

    def get(self, request: Mapping[str, object]) -> Answer | None:
        """Return the cached answer to a request (all that it depends on, as JSON values without secrets), or None."""
        content = self._content(_key(_text(request)))
        return None if content is None else replace(msgspec.json.decode(content, type=Answer), cached=True)

    def put(self, request: Mapping[str, object], answer: Answer) -> None:
        """Store an answer, replacing an earlier one."""
        text = _text(request)
        row = (_key(text), text, msgspec.json.encode(answer))
        try:
            self._connection.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise self._failure("written", error) from error

    def has(self, key: str) -> bool:
        """Return True if the file has an answer under a key of :func:`answer_key`."""
        return self._content(bytes.fromhex(key)) is not None

    def _content(self, key: bytes) -> bytes | None:
        try:
            row = self._connection.execute("SELECT content FROM answer WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        return None if row is None else row[0]

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM answer").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _failure(self, done: str, error: sqlite3.Error | OSError) -> KgprobeError:
        return KgprobeError(f"The answer cache {self.path} cannot be {done}: {error}. Delete it to start a new one.")


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
