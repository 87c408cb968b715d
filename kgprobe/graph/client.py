"""One Bolt client for every engine: reads, streams, and writes that are always explicit transactions."""

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from neo4j import READ_ACCESS, WRITE_ACCESS, ManagedTransaction, Record, Result, ResultSummary, Session
from neo4j.exceptions import ConstraintError

from kgprobe.errors import KgprobeError
from kgprobe.graph.driver import answers, explained, make_driver
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.messages import MESSAGE_BYTES, encoded_bytes
from kgprobe.graph.parameters import complete_parameters
from kgprobe.graph.places import showing_the_place
from kgprobe.graph.queries import find_query, get_query
from kgprobe.graph.rows import Rows
from kgprobe.graph.statements import refuse_deep_nesting
from kgprobe.graph.watchdog import Watchdog

Row = dict[str, Any]
T = TypeVar("T")

# As many as the driver asks for at once.
_ROWS_AT_ONCE = 1000

# What was waited for may so long take to notice that its connection is gone.
_ORDERLY_SECONDS = 2.0

# In what the embedded engine says that it is.
_EMBEDDED = "ArcadeDB"

# How often a transaction may find that another one was faster to make what has to be unique.
_OVERTAKEN = 5


class Transaction:
    """What a function given to :meth:`Graph.transaction` may do: run queries by name, all of them or none."""

    def __init__(self, transaction: ManagedTransaction, check_size: Callable[[Row], None]) -> None:
        self._transaction = transaction
        self._check_size = check_size

    def run(self, query: str, **parameters: Any) -> list[Row]:
        """The rows of the query file of that name."""
        self._check_size(parameters)
        return self._transaction.run(get_query(query).text, parameters).data()


class Graph:
    """A connection to a graph; :func:`~kgprobe.servers.opening.open_graph` makes one.

    >>> graph.query("explore/relations")[0]["label"]
    'shares border with'

    Close it, or use it as a context manager.
    """

    def __init__(self, endpoint: Endpoint, release: Callable[[], None] = lambda: None) -> None:
        """Connect.

        Args:
            release: called once, when the connection was closed, or was collected without that.

        Raises:
            KgprobeError: nobody answers there, or the user and password are refused.
        """
        self.endpoint = endpoint
        with explained(endpoint):
            self._connect()
            try:
                with self._watchdog.wait():
                    # A driver that is interrupted while it connects says so on stderr.
                    self.server = self._wait_for(lambda: self._driver.get_server_info().agent)
            except BaseException:
                self._driver.close()
                raise
        self._longest_message = MESSAGE_BYTES if self.is_embedded else None
        self._release = release
        self._unclosed = weakref.finalize(self, _release_aside, release)
        # At exit no thread can be started; whoever gave the release sees to it then.
        self._unclosed.atexit = False

    @property
    def is_embedded(self) -> bool:
        """Whether the server is ArcadeDB, which lacks some of Neo4j's indexes and commands."""
        return _EMBEDDED in self.server

    def __repr__(self) -> str:
        place = f" in {self.endpoint.folder}" if self.endpoint.folder else ""
        return f"<Graph {self.server}{place} at {self.endpoint.address}{'' if self._unclosed.alive else ', closed'}>"

    def __enter__(self) -> "Graph":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection back, and the server with it if nobody else uses it; a second time does nothing."""
        if self._unclosed.detach() is None:
            return
        try:
            self._driver.close()
        finally:
            self._release()

    def query(self, query: str, /, **parameters: Any) -> Rows:
        """Run Cypher, one's own or a query of kgprobe by name, as ``kgprobe graph query`` does.

        >>> graph.query("MATCH (:Entity {id: $id})-[f:FACT]->(o) RETURN f.relation, o.label LIMIT 1", id="Q142").columns
        ('f.relation', 'o.label')
        >>> frame = graph.query("explore/neighbours", id="Q142").to_frame()
        >>> frame[frame.relation == "P36"][["direction", "relation_label", "label"]].to_records(index=False).tolist()
        [('out', 'capital', 'Paris')]

        It is one transaction, which is done as a whole or not at all.

        Args:
            query: one statement; or a name, such as ``explore/neighbours``, as
                :func:`~kgprobe.graph.queries.explore_names` lists them.
            parameters: what the statement calls ``$name``; a query by name may have defaults for some, and takes
                entities and relations by their ids, labels or aliases.

        Raises:
            UnknownNameError: there is no query of that name; or nothing is called as a parameter says, or several
                entities are.
            QueryError: it is not one statement, or a parameter is missing or unknown.
            KgprobeError: the graph refuses it.

        Cost: that of the query; all of its rows are held in memory.
        """
        # They read from a graph themselves.
        from kgprobe.graph.empty_answers import why_empty
        from kgprobe.graph.named_parameters import resolve_parameters

        wanted = find_query(query)
        resolved = resolve_parameters(self, wanted, complete_parameters(wanted, parameters))
        columns, remaining = self.run_text(wanted.text, resolved)
        rows = tuple(remaining)
        return Rows(tuple(columns), rows, None if rows else why_empty(self, wanted, resolved))

    def read(self, query: str, **parameters: Any) -> list[Row]:
        """All rows of the query file of that name, in one read transaction."""
        self._check_size(parameters)

        def work(transaction: ManagedTransaction) -> list[Row]:
            return transaction.run(get_query(query).text, parameters).data()

        def ask() -> list[Row]:
            with self._session(READ_ACCESS) as session:
                return session.execute_read(work)

        with self._in_use():
            return self._wait_for(ask)

    def stream(self, query: str, **parameters: Any) -> Iterator[Row]:
        """The rows of the query file of that name, one at a time, with bounded memory."""
        self._check_size(parameters)
        with (
            self._in_use(),
            self._session(READ_ACCESS) as session,
            self._wait_for(session.begin_transaction) as transaction,
        ):
            for record in self._records(self._wait_for(lambda: transaction.run(get_query(query).text, parameters))):
                yield record.data()

    def write(self, query: str, **parameters: Any) -> list[Row]:
        """Run the query file of that name in one explicit write transaction, tried anew on transient errors."""
        return self.transaction(lambda transaction: transaction.run(query, **parameters))

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        """Do several queries as one explicit write transaction.

        Args:
            work: may be called more than once, because transactions are tried anew on transient errors, and where
                somebody else has just made the very thing that this one was about to make.
        """
        for _ in range(_OVERTAKEN):
            try:
                return self._transaction(work)
            except KgprobeError as error:  # noqa: PERF203  (a server takes longer)
                if not isinstance(error.__cause__, ConstraintError):
                    raise
        return self._transaction(work)

    def _transaction(self, work: Callable[[Transaction], T]) -> T:
        def ask() -> T:
            with self._session() as session:
                return session.execute_write(lambda transaction: work(Transaction(transaction, self._check_size)))

        with self._in_use():
            return self._wait_for(ask)

    def run_text(
        self, text: str, parameters: Mapping[str, Any], on_summary: Callable[[ResultSummary], None] | None = None
    ) -> tuple[list[str], Iterator[Row]]:
        """Run Cypher that a user wrote, in one explicit transaction; columns, and rows as they come.

        Everything is committed when the rows have been read to their end, and rolled back if they are not.

        Args:
            on_summary: called then with what the driver says of the statement, its plan among it.

        Raises:
            KgprobeError: the graph refuses it; where the statement is at fault, the message shows the place.
        """
        address = self.endpoint.address
        self._check_size(parameters)
        refuse_deep_nesting(text)
        with self._in_use():
            # Half a character in a key is an internal error of the driver's.
            encoded_bytes(dict(parameters))
            session = self._session()
            transaction = self._wait_for(session.begin_transaction)

        def rows() -> Iterator[Row]:
            with self._in_use(), showing_the_place(address, text), session, transaction:
                for record in self._records(result):
                    yield {column: record[column] for column in columns}
                if on_summary is not None:
                    on_summary(self._wait_for(result.consume))
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
        """Do what waits for the server. Where the user or the system wants to end that, it ends at once.

        The driver would wait on, for a rollback or for what it has asked already. Without its connection, the server
        rolls back by itself.
        """
        if threading.current_thread() is not threading.main_thread():
            # Signals come to the main thread alone.
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
                waiting.join(_ORDERLY_SECONDS)
            raise

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """The server is needed: its errors are explained, and waits end if it goes silent."""
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
                f"{self.endpoint.address} does not answer any more: it takes no new connection either. Is the graph"
                " server running there, or was it stopped?"
            ) from error

    def _connect(self) -> None:
        self._driver = make_driver(self.endpoint)
        self._watchdog = Watchdog(partial(answers, self.endpoint), self._driver.close)

    def _reconnect(self) -> None:
        # Aside: its farewell may wait for a server that does not read.
        threading.Thread(target=self._driver.close, name="kgprobe-farewell", daemon=True).start()
        self._connect()

    def _check_size(self, parameters: Mapping[str, Any]) -> None:
        """Whether the server would ever answer a message with these.

        Raises:
            KgprobeError: it would not.
        """
        if self._longest_message is None:
            return
        try:
            size = encoded_bytes(dict(parameters))
        except (TypeError, ValueError, OverflowError, RecursionError):
            # The driver says what is wrong with them.
            return
        if size > self._longest_message:
            raise KgprobeError(
                f"The parameters have {size / 1e6:,.1f} MB; the embedded engine takes up to"
                f" {self._longest_message / 1e6:.1f} MB in one piece. Give them in parts."
            )

    def _session(self, access: str = WRITE_ACCESS) -> Session:
        if not self._unclosed.alive:
            raise KgprobeError(f"{self!r} cannot be used any more; open the graph anew.")
        return self._driver.session(database=self.endpoint.database, default_access_mode=access)


def _release_aside(release: Callable[[], None]) -> None:
    # The collector comes at any moment, also while this thread holds a lock that the release waits for.
    threading.Thread(target=release, name="kgprobe-release").start()
