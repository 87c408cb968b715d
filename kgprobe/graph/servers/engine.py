"""The description of a graph engine: how to start its server, and how to connect to it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Minimum memory of a server, in MiB.
LEAST_MEMORY = 256


@dataclass(frozen=True, slots=True)
class Launch:
    """Settings with which an engine starts its server.

    Attributes:
        folder: the engine's subfolder of the graph's folder, for data, configuration and logs.
        password_file: file with the password, readable only by its owner.
        bolt_port, http_port: free ports of the loopback interface.
        memory: memory of the server in MiB.
    """

    folder: Path
    password_file: Path
    bolt_port: int
    http_port: int
    memory: int


@dataclass(frozen=True, slots=True)
class GraphEngine:
    """A graph engine that kgprobe can run.

    Attributes:
        name: value of ``engine`` in ``open_graph``.
        user: administrator of the database.
        database: name of the database on the server.
        data: folder of the database's files within the engine's subfolder.
        page: path of the engine's web page, if it has one.
        prepare: downloads the engine if necessary and returns its version. Its argument is the engine's subfolder,
            which need not exist. Raises KgprobeError if a requirement is missing.
        command: writes the configuration and returns the command line that starts the server, without the password.
            The first element is the program java; options of java can be inserted after it.
    """

    name: str
    user: str
    database: str
    data: str
    page: str | None
    prepare: Callable[[Path], str]
    command: Callable[[Launch], list[str]]
