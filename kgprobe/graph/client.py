"""One Bolt client for every engine: reads, streams, and writes that are always explicit transactions."""

import logging
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from neo4j import READ_ACCESS, WRITE_ACCESS, Driver, GraphDatabase, ManagedTransaction, Session
from neo4j import exceptions as bolt

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import disk_is_full, home
from kgprobe.graph.parameters import check_parameters
from kgprobe.graph.places import showing_the_place
from kgprobe.graph.queries import find_query, get_query
from kgprobe.graph.rows import Rows

Row = dict[str, Any]
T = TypeVar("T")

_ADDRESS = re.compile(r"(?:bolt|neo4j)(?:\+s|\+ssc)?://")
# A password may hold whatever it likes, another @ too; the scheme may be mistyped.
_CREDENTIALS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+.*@(?P<host>.*)", re.DOTALL)

# How long the driver tries a transaction anew, with growing pauses, before the failure is the user's to see.
RETRY_SECONDS = 30.0

# How often a transaction may find that another one was faster to make what has to be unique.
_OVERTAKEN = 5


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A graph server that answers.

    Attributes:
        address: ``bolt://…``, ``neo4j://…``, with ``+s`` or ``+ssc`` for encryption.
        user, password: as the server knows them; the password never shows in ``repr``.
        database: its name on the server; None is the server's default.
        folder: where the data lies, of a server that kgprobe started itself; None for any other.
    """

    address: str
    user: str
    password: str = field(repr=False)
    database: str | None = None
    folder: Path | None = None


def is_address(graph: str) -> bool:
    """Whether a graph is named by a server's address rather than by a folder."""
    return _ADDRESS.match(graph) is not None


def refuse_credentials(graph: str) -> None:
    """See that an address holds no user or password: it is shown in messages, and seen by whoever lists processes.

    Raises:
        ArgumentError: it does; the message shows what stands behind them alone.
    """
    found = _CREDENTIALS.match(graph)
    if found:
        raise ArgumentError(
            "graph",
            f"names a user or a password before {found['host']!r}; set KGPROBE_GRAPH_USER and "
            "KGPROBE_GRAPH_PASSWORD instead.",
        )


def default_folder() -> Path:
    """Where the embedded engine keeps its data when nobody names a folder."""
    return home() / "graph"


class Transaction:
    """What a function given to :meth:`Graph.transaction` may do: run queries by name, all of them or none."""

    def __init__(self, transaction: ManagedTransaction) -> None:
        self._transaction = transaction

    def run(self, query: str, **parameters: Any) -> list[Row]:
        """The rows of the query file of that name."""
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
        with _explained(endpoint):
            self._driver = _driver(endpoint)
            try:
                self._driver.verify_connectivity()
                self.server = self._driver.get_server_info().agent
            except BaseException:
                self._driver.close()
                raise
        self._release = release
        self._unclosed = weakref.finalize(self, _release_aside, release)
        # At exit no thread can be started; whoever gave the release sees to it then.
        self._unclosed.atexit = False

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
        >>> frame = graph.query("explore/neighbours", id="Q142").frame()
        >>> frame[frame.relation == "P36"][["direction", "relation_label", "label"]].to_records(index=False).tolist()
        [('out', 'capital', 'Paris')]

        It is one transaction, which is done as a whole or not at all.

        Args:
            query: one statement; or a name, such as ``explore/neighbours``, as
                :func:`~kgprobe.graph.queries.query_names` lists them.
            parameters: what the statement calls ``$name``.

        Raises:
            UnknownNameError: there is no query of that name.
            QueryError: it is not one statement, or a parameter is missing or unknown.
            KgprobeError: the graph refuses it.

        Cost: that of the query; all of its rows are held in memory.
        """
        wanted = find_query(query)
        check_parameters(wanted, parameters)
        columns, rows = self.run_text(wanted.text, parameters)
        return Rows(tuple(columns), tuple(rows))

    def read(self, query: str, **parameters: Any) -> list[Row]:
        """All rows of the query file of that name, in one read transaction."""

        def work(transaction: ManagedTransaction) -> list[Row]:
            return transaction.run(get_query(query).text, parameters).data()

        with _explained(self.endpoint), self._session(READ_ACCESS) as session:
            return session.execute_read(work)

    def stream(self, query: str, **parameters: Any) -> Iterator[Row]:
        """The rows of the query file of that name, one at a time, with bounded memory."""
        with (
            _explained(self.endpoint),
            self._session(READ_ACCESS) as session,
            session.begin_transaction() as transaction,
        ):
            for record in transaction.run(get_query(query).text, parameters):
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
                if not isinstance(error.__cause__, bolt.ConstraintError):
                    raise
        return self._transaction(work)

    def _transaction(self, work: Callable[[Transaction], T]) -> T:
        with _explained(self.endpoint), self._session() as session:
            return session.execute_write(lambda transaction: work(Transaction(transaction)))

    def run_text(self, text: str, parameters: Mapping[str, Any]) -> tuple[list[str], Iterator[Row]]:
        """Run Cypher that a user wrote, in one explicit transaction; columns, and rows as they come.

        Everything is committed when the rows have been read to their end, and rolled back if they are not.

        Raises:
            KgprobeError: the graph refuses it; where the statement is at fault, the message shows the place.
        """
        address = self.endpoint.address
        with _explained(self.endpoint):
            session = self._session()
            transaction = session.begin_transaction()

        def rows() -> Iterator[Row]:
            with (
                _explained(self.endpoint),
                showing_the_place(address, text),
                session,
                transaction,
                self._interruptible(),
            ):
                for record in result:
                    yield {column: record[column] for column in columns}
                transaction.commit()

        try:
            with _explained(self.endpoint), showing_the_place(address, text), self._interruptible():
                result = transaction.run(text, dict(parameters))
                columns = list(result.keys())
        except BaseException:
            transaction.close()
            session.close()
            raise
        return columns, rows()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            # A rollback would wait until the server has done what the user wants to end. Without its connection, the
            # server rolls back by itself.
            self._driver.close()
            self._driver = _driver(self.endpoint)
            raise

    def _session(self, access: str = WRITE_ACCESS) -> Session:
        if not self._unclosed.alive:
            raise KgprobeError(f"{self!r} cannot be used any more; open the graph anew.")
        return self._driver.session(database=self.endpoint.database, default_access_mode=access)


def _release_aside(release: Callable[[], None]) -> None:
    # The collector comes at any moment, also while this thread holds a lock that the release waits for.
    threading.Thread(target=release, name="kgprobe-release").start()


def _driver(endpoint: Endpoint) -> Driver:
    # A program that has set up no logging gets warnings on stderr, each time a transaction is tried anew; what fails
    # in the end is raised.
    logger = logging.getLogger("neo4j")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return GraphDatabase.driver(
        endpoint.address,
        auth=(endpoint.user, endpoint.password),
        max_transaction_retry_time=RETRY_SECONDS,
        connection_acquisition_timeout=RETRY_SECONDS,
        connection_timeout=10.0,
        # Hints about deprecations and missing indexes are for us, in the tests, not for the user's terminal.
        notifications_min_severity="OFF",
        user_agent="kgprobe",
    )


@contextmanager
def _explained(endpoint: Endpoint) -> Iterator[None]:
    try:
        yield
    except bolt.AuthError as error:
        raise KgprobeError(
            f"{endpoint.address} refuses user {endpoint.user!r} with this password. "
            "Set KGPROBE_GRAPH_USER and KGPROBE_GRAPH_PASSWORD."
        ) from error
    except (bolt.ServiceUnavailable, bolt.SessionExpired) as error:
        if full := _full_disk(endpoint):
            raise KgprobeError(full) from error
        raise KgprobeError(
            f"{endpoint.address} does not answer: {_first_line(error)}. Is the graph server running there?"
        ) from error
    except (bolt.Neo4jError, bolt.DriverError) as error:
        if full := _full_disk(endpoint):
            raise KgprobeError(f"{full} The graph said: {_first_line(error)}") from error
        raise KgprobeError(f"The graph at {endpoint.address} reports: {_first_line(error)}") from error


def _full_disk(endpoint: Endpoint) -> str | None:
    return disk_is_full(endpoint.folder) if endpoint.folder else None


def _first_line(error: Exception) -> str:
    lines = str(getattr(error, "message", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def endpoint_of(address: str, ask_password: Callable[[str], str] | None = None) -> Endpoint:
    """A server that somebody else runs: user, password and database from the environment.

    Args:
        address: ``bolt://…`` or ``neo4j://…``.
        ask_password: called with the prompt when ``KGPROBE_GRAPH_PASSWORD`` is not set.

    Raises:
        ArgumentError: the address holds a user or a password.
        KgprobeError: there is no password, and nobody to ask.
    """
    refuse_credentials(address)
    user = os.environ.get("KGPROBE_GRAPH_USER", "neo4j")
    password = os.environ.get("KGPROBE_GRAPH_PASSWORD")
    if password is None:
        if ask_password is None:
            raise KgprobeError(
                f"{address} needs the password of {user}. Set KGPROBE_GRAPH_PASSWORD, or give `ask_password`."
            )
        password = ask_password(f"Password of {user} at {address}")
    return Endpoint(address, user, password, os.environ.get("KGPROBE_GRAPH_DATABASE"))
