"""The engines by name."""

from collections.abc import Mapping

from kgprobe.graph.servers import arcadedb, neo4j_engine
from kgprobe.graph.servers.engine import GraphEngine

DEFAULT = arcadedb.ENGINE.name

ENGINES: Mapping[str, GraphEngine] = {engine.name: engine for engine in (arcadedb.ENGINE, neo4j_engine.ENGINE)}
