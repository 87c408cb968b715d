"""What a graph engine is to us: how its server is started, and as whom one talks to it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# MiB below which no engine's server starts.
LEAST_MEMORY = 256


@dataclass(frozen=True, slots=True)
class Launch:
    """What an engine needs to know to start its server.

    Attributes:
        folder: the engine's own part of the graph's folder; data, configuration and logs go there.
        password_file: holds the password, readable by its owner alone.
        bolt_port, http_port: free ports of the loopback interface.
        memory: what the server may use, in MiB.
    """

    folder: Path
    password_file: Path
    bolt_port: int
    http_port: int
    memory: int


@dataclass(frozen=True, slots=True)
class Engine:
    """A graph engine that kgprobe can run itself.

    Attributes:
        name: as ``open_graph`` takes it.
        user: who may do everything.
        database: its name on the server.
        data: where in its part of the graph's folder the database's files lie.
        page: path of the engine's web page for people, if it has one.
        prepare: sees to it that the engine can run on this machine, downloads it if need be, and gives its version;
            takes the engine's part of the graph's folder, which need not exist yet; raises KgprobeError where something
            is missing.
        command: writes the configuration and gives the command line that starts the server, without the password.
            The first element is the program java; its options can be put right behind it.
    """

    name: str
    user: str
    database: str
    data: str
    page: str | None
    prepare: Callable[[Path], str]
    command: Callable[[Launch], list[str]]
