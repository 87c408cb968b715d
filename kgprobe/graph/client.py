"""The Bolt client for all engines: reads, streams, and writes in explicit transactions."""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import copy, deepcopy
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

from neo4j import READ_ACCESS, WRITE_ACCESS, ManagedTransaction, Record, Result, Session
from neo4j.exceptions import ConstraintError, Neo4jError

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import property_in
from kgprobe.graph.driver import MESSAGE_BYTES, answers, encoded_bytes, explained, make_driver, showing_the_place
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.explore import resolve_parameters, why_empty
from kgprobe.graph.parameters import complete_parameters
from kgprobe.graph.queries import find_query, get_query, query_names, refuse_deep_nesting, text_in
from kgprobe.graph.rows import Rows

# Seconds. A wait ends within a minute, including the driver's retries.
FIRST_LOOK = 5.0
LOOK_AGAIN = 3.0
PATIENCE = 8.0
FAILED_LOOKS = 2

_TICK = 0.5
# The thread ends after this time without a wait; the next wait starts another.
_IDLE_SECONDS = 10.0


class Watchdog:
    """Watchdog of one driver's connections: ends waits for a server that no longer answers, without limiting queries.

    The driver waits for an answer without limit, since a query may take hours, and a stopped process keeps its
    connections. During a wait, a thread checks regularly whether the server accepts new connections. After repeated
    failures it closes the connections, and the waiting call raises the driver's error.

    Attributes:
        has_cut: True once it has closed them.
    """

    def __init__(self, answers: Callable[[], bool], cut: Callable[[], None]) -> None:
        """Create a watchdog; it watches during :meth:`wait`.

        Args:
            answers: returns True if the server accepts a new connection; may take any time.
            cut: closes all connections; called at most once.
        """
        self.has_cut = False
        self._answers = answers
        self._cut = cut
        self._lock = threading.Lock()
        self._waits = 0
        # Time at which the number of waits last became 1 or 0.
        self._since = 0.0
        self._watching = False

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Watch the server inside the context."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            self._waits += more
            if self._waits == max(more, 0):
                self._since = time.monotonic()
            begins = self._waits > 0 and not self._watching and not self.has_cut
            self._watching = self._watching or begins
        if begins:
            threading.Thread(target=self._watch, name="kgprobe-watchdog", daemon=True).start()

    def _watch(self) -> None:
        failed = 0
        look_at = 0.0
        while not self._idle():
            time.sleep(_TICK)
            waiting, since = self._waits > 0, self._since
            if not waiting or time.monotonic() < max(since + FIRST_LOOK, look_at):
                continue
            failed = 0 if self._looks_alive() else failed + 1
            look_at = time.monotonic() + LOOK_AGAIN
            if failed == FAILED_LOOKS:
                self.has_cut = True
                self._cut()

    def _idle(self) -> bool:
        with self._lock:
            idle = not self._waits and time.monotonic() > self._since + _IDLE_SECONDS
            self._watching = not idle and not self.has_cut
            return not self._watching

    def _looks_alive(self) -> bool:
        alive: list[bool] = []
        # In a thread, because the check may hang as well.
        look = threading.Thread(target=lambda: alive.append(self._answers()), name="kgprobe-look", daemon=True)
        look.start()
        look.join(PATIENCE)
        return alive == [True]


Row = dict[str, Any]
T = TypeVar("T")

# The driver's fetch size.
_ROWS_AT_ONCE = 1000

# Longest wait for an interrupted query to notice that its connection is closed.
_INTERRUPT_SECONDS = 2.0

# Name of the embedded engine in the server's agent string.
_EMBEDDED = "ArcadeDB"

# Retries of a transaction after another one has created a node with the same unique property.
_CONFLICT_RETRIES = 5


class Transaction:
    """A transaction for a function given to :meth:`Graph.transaction`: all queries are committed, or none."""

    def __init__(self, transaction: ManagedTransaction, check_size: Callable[[Row], None]) -> None:
        self._transaction = transaction
        self._check_size = check_size

    def run(self, query: str, **parameters: Any) -> list[Row]:
        """Run a query file by name, and return its rows."""
        self._check_size(parameters)
        return _rows(self._transaction.run(get_query(query).text, parameters))


class Graph:
    """A connection to a graph, from :func:`~kgprobe.graph.servers.opening.open_graph`.

    >>> graph.query("explore/relations")[0]["label"]
    'shares border with'

    Close it, or use it as a context manager.

    Attributes:
        language: code of the language in which facts are asked, see :meth:`in_language`; None for names as loaded.
        is_plain: True if the names in this language are those as loaded.
    """

    def __init__(self, endpoint: Endpoint, release: Callable[[], None] = lambda: None) -> None:
        """Connect.

        Args:
            release: called once, after the connection is closed or collected.
        """
        self.endpoint = endpoint
        with explained(endpoint):
            self._connect()
            try:
                with self._watchdog.wait():
                    # An interrupted driver prints an error to stderr while it connects.
                    self.server = self._wait_for(lambda: self._driver.get_server_info().agent)
            except BaseException:
                self._driver.close()
                raise
        self._longest_message = MESSAGE_BYTES if self.is_embedded else None
        self._release = release
        self._stored: Mapping[str, Sequence[Row]] = {}
        self.language: str | None = None
        self.is_plain = True
        self._whole: Graph | None = None
        self._unclosed = weakref.finalize(self, _release_in_thread, release)
        # No thread can start at exit; servers.opening closes leased graphs then.
        self._unclosed.atexit = False

    @property
    def is_embedded(self) -> bool:
        """True if the server is ArcadeDB, which lacks some of Neo4j's indexes and commands."""
        return _EMBEDDED in self.server

    def __repr__(self) -> str:
        place = f" in {self.endpoint.folder}" if self.endpoint.folder else ""
        return f"<Graph {self.server}{place} at {self.endpoint.address}{'' if self._unclosed.alive else ', closed'}>"

    def __enter__(self) -> "Graph":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a local server without other users stops. A second call does nothing."""
        if self._unclosed.detach() is None:
            return
        try:
            self._driver.close()
        finally:
            self._release()

    def query(self, query: str, /, **parameters: Any) -> Rows:
        """Run Cypher, or a query of kgprobe by name, as ``kgprobe graph query`` does.

        >>> graph.query("MATCH (:Entity {id: $id})-[f:FACT]->(o) RETURN f.relation, o.label LIMIT 1", id="Q142").columns
        ('f.relation', 'o.label')
        >>> frame = graph.query("explore/neighbours", id="Q142").to_frame()
        >>> frame[frame.relation == "P36"][["direction", "relation_label", "label"]].to_records(index=False).tolist()
        [('out', 'capital', 'Paris')]

        The query is one transaction: it is committed as a whole or not at all.

        Args:
            query: one statement; or a name of :func:`~kgprobe.graph.queries.explore_names`, such as
                ``explore/neighbours``.
            parameters: values of ``$name`` in the statement. Queries by name have defaults for some parameters, and
                accept ids, labels or aliases of entities and relations.

        All rows are held in memory.
        """
        statement = find_query(query)
        resolved = resolve_parameters(self, statement, complete_parameters(statement, parameters))
        columns, remaining = self.run_text(statement.text, resolved)
        rows = tuple(remaining)
        return Rows(tuple(columns), rows, None if rows else why_empty(self, statement, resolved))

    def with_rows(self, query: str, rows: Sequence[Row]) -> "Graph":
        """Return the same connection, in which a query file without parameters returns stored rows."""
        graph = copy(self)
        graph._stored = {**self._stored, query: rows}
        return graph

    def languages(self) -> list[str]:
        """Return the codes of the languages of names that loads have stored, sorted."""
        return sorted(set(chain.from_iterable(row["languages"] for row in self.read("load/loads"))))

    def in_language(self, ask_in: str | None) -> "Graph":
        """Return the same connection, in which facts are asked in a language: its names, its templates.

        An entity without a label in the language is not asked, and is no distractor or choice. Labels of relations and
        types that lack one are those as loaded.

        Args:
            ask_in: code of a language that was loaded, such as ``de``; None for names and templates as loaded.

        Raises:
            ArgumentError: the graph has no names in the language.
        """
        if ask_in == self.language:
            return self
        graph = copy(self)
        # Its end would close the connection.
        graph._whole = self
        graph.language, graph.is_plain = ask_in, True
        if ask_in is not None:
            loads = [row["languages"] for row in self.read("load/loads") if row["languages"]]
            codes = {property_in("", code): code for code in chain.from_iterable(loads)}
            if property_in("", ask_in) not in codes:
                has = f"names in {', '.join(sorted(codes.values()))}" if codes else "no loads with a language"
                raise ArgumentError(
                    "ask_in", f"is {ask_in!r}; this graph has {has}. `kgprobe load` with --language {ask_in} adds it."
                )
            graph.language = codes[property_in("", ask_in)]
            alone = [graph.language]
            graph.is_plain = all(languages == alone for languages in loads)
            if not graph.is_plain and all(languages == alone for languages in loads if graph.language in languages):
                raise ArgumentError(
                    "ask_in",
                    f"is {ask_in!r}; this graph has data in other languages, and data in {ask_in} that was loaded in it"
                    " alone, so that its names are not told apart. Load that data again with --language for all of"
                    f" these: {', '.join(sorted(codes.values()))}.",
                )
        return graph

    def _text(self, query: str) -> str:
        """Return the text of a query file by name, in the language asked."""
        return get_query(query).text if self.language is None else text_in(query, self.language, plain=self.is_plain)

    def read(self, query: str, **parameters: Any) -> list[Row]:
        """Return all rows of a query file by name, in one read transaction."""
        if query in self._stored:
            return deepcopy([*self._stored[query]])
        self._check_size(parameters)
        text = self._text(query)

        def ask() -> list[Row]:
            with self._session(READ_ACCESS) as session:
                return session.execute_read(lambda transaction: _rows(transaction.run(text, parameters)))

        with self._in_use():
            return self._wait_for(ask)

    def stream(self, query: str, **parameters: Any) -> Iterator[Row]:
        """Yield the rows of a query file by name, with bounded memory."""
        self._check_size(parameters)
        with (
            self._in_use(),
            self._session(READ_ACCESS) as session,
            self._wait_for(session.begin_transaction) as transaction,
        ):
            for record in self._records(self._wait_for(lambda: transaction.run(self._text(query), parameters))):
                # Without a copy of nested lists.
                yield {column: record[column] for column in record.keys()}  # noqa: SIM118

    def write(self, query: str, **parameters: Any) -> list[Row]:
        """Run a query file by name in one explicit write transaction, with retries after transient errors."""
        return self.transaction(lambda transaction: transaction.run(query, **parameters))

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        """Run several queries in one explicit write transaction.

        Args:
            work: runs the queries. It may be called more than once: transactions are retried after transient errors,
                after another transaction has created a node with the same unique property, and after it has deleted a
                node that this one writes.
        """
        for _ in range(_CONFLICT_RETRIES):
            try:
                return self._transaction(work)
            except KgprobeError as error:  # noqa: PERF203  (the server takes longer)
                cause = error.__cause__
                deleted = isinstance(cause, Neo4jError) and cause.code == "Neo.ClientError.Statement.EntityNotFound"
                if not deleted and not isinstance(cause, ConstraintError):
                    raise
        return self._transaction(work)

    def _transaction(self, work: Callable[[Transaction], T]) -> T:
        def ask() -> T:
            with self._session() as session:
                return session.execute_write(lambda transaction: work(Transaction(transaction, self._check_size)))

        with self._in_use():
            return self._wait_for(ask)

    def run_text(self, text: str, parameters: Mapping[str, Any]) -> tuple[list[str], Iterator[Row]]:
        """Run a user's Cypher in one explicit transaction, and return its columns and an iterator of its rows.

        The transaction is committed after the last row, and rolled back if the rows are not read to the end.
        """
        address = self.endpoint.address
        self._check_size(parameters)
        refuse_deep_nesting(text)
        with self._in_use():
            # The driver fails with an internal error for a lone surrogate in a key.
            encoded_bytes(dict(parameters))
            session = self._session()
            transaction = self._wait_for(session.begin_transaction)

        def rows() -> Iterator[Row]:
            with self._in_use(), showing_the_place(address, text), session, transaction:
                for record in self._records(result):
                    yield {column: record[column] for column in columns}
                self._wait_for(transaction.commit)

        try:
            with self._in_use(), showing_the_place(address, text):
                result = self._wait_for(lambda: transaction.run(text, dict(parameters)))
                columns = list(self._wait_for(result.keys))
        except BaseException:
            transaction.close()
            session.close()
            raise
        return columns, rows()

    def _records(self, result: Result) -> Iterator[Record]:
        remaining = iter(result)
        while part := self._wait_for(lambda: list(islice(remaining, _ROWS_AT_ONCE))):
            yield from part

    def _wait_for(self, ask: Callable[[], T]) -> T:
        """Call a function that waits for the server; Ctrl-C and signals end the wait at once.

        The driver itself would continue to wait for the result or a rollback. The server rolls back without a
        connection.
        """
        if threading.current_thread() is not threading.main_thread():
            # Only the main thread receives signals.
            return ask()
        answer: Future[T] = Future()

        def wait() -> None:
            try:
                answer.set_result(ask())
            except BaseException as error:
                answer.set_exception(error)

        waiting = threading.Thread(target=wait, name="kgprobe-wait", daemon=True)
        waiting.start()
        try:
            return answer.result()
        except (KeyboardInterrupt, SystemExit):
            if not answer.done():
                self._reconnect()
                waiting.join(_INTERRUPT_SECONDS)
            raise

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Convert errors of the server to messages, and end waits if it stops answering."""
        watchdog = self._watchdog
        try:
            with explained(self.endpoint), watchdog.wait():
                yield
        except KgprobeError as error:
            if not watchdog.has_cut:
                raise
            if watchdog is self._watchdog:
                self._reconnect()
            raise KgprobeError(
                f"{self.endpoint.address} no longer answers and accepts no new connections. Check that the graph server"
                " is running there."
            ) from error

    def _connect(self) -> None:
        self._driver = make_driver(self.endpoint)
        self._watchdog = Watchdog(partial(answers, self.endpoint), self._driver.close)

    def _reconnect(self) -> None:
        # In a thread: closing may wait for a server that does not read.
        threading.Thread(target=self._driver.close, name="kgprobe-close", daemon=True).start()
        self._connect()

    def _check_size(self, parameters: Mapping[str, Any]) -> None:
        """Raise KgprobeError if the parameters are too large: the embedded engine would never answer."""
        if self._longest_message is None:
            return
        try:
            size = encoded_bytes(dict(parameters))
        except (TypeError, ValueError, OverflowError, RecursionError):
            # The driver reports these errors.
            return
        if size > self._longest_message:
            raise KgprobeError(
                f"The parameters have {size / 1e6:,.1f} MB; the embedded engine accepts up to"
                f" {self._longest_message / 1e6:.1f} MB in one query. Split them."
            )

    def _session(self, access: str = WRITE_ACCESS) -> Session:
        if not self._unclosed.alive:
            raise KgprobeError(f"{self!r} cannot be used any more; open the graph again.")
        return self._driver.session(database=self.endpoint.database, default_access_mode=access)


def _rows(result: Result) -> list[Row]:
    """Return the rows of a query that returns neither nodes nor relationships: ``Result.data`` copies all values."""
    columns = result.keys()
    return [dict(zip(columns, record, strict=True)) for record in result]


def _release_in_thread(release: Callable[[], None]) -> None:
    # The garbage collector may run while this thread holds a lock that the release waits for.
    threading.Thread(target=release, name="kgprobe-release").start()


# Indexes that the embedded engine refuses, with which it does not find all nodes, or which it updates too slowly.
_NEO4J_ONLY = frozenset({"schema/entity_names", "schema/entity_label", "schema/fact_belief", "schema/fact_relation"})


def apply_schema(graph: Graph) -> None:
    """Create the missing constraints and indexes, from ``cypher/schema/``."""
    for name in query_names():
        if name.startswith("schema/") and not (graph.is_embedded and name in _NEO4J_ONLY):
            graph.write(name)
