"""The engines by name."""

from collections.abc import Mapping

from kgprobe.servers import arcadedb, neo4j_engine
from kgprobe.servers.engine import Engine

DEFAULT = arcadedb.ENGINE.name

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (arcadedb.ENGINE, neo4j_engine.ENGINE)}
