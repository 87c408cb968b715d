"""Run inside a mount namespace of its own: a graph on a tiny disk is written to until it fails, and opened again.

Prints one JSON object: how many nodes were committed, what the failure said, how many are there afterwards, and whether
writing goes on once there is room.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from kgprobe.base.errors import KgprobeError
from kgprobe.graph.servers.opening import open_graph

BATCH = "UNWIND range(1, 200) AS i CREATE (:Entity {id: toString($batch) + '-' + toString(i), label: $text})"
COUNT = "MATCH (e:Entity) RETURN count(e) AS count"


def main(disk: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m", "tmpfs", str(disk)], check=True)
    ballast = disk / "ballast"
    ballast.write_bytes(os.urandom(2**20) * 64)
    folder = disk / "graph"
    committed, complaint = 0, ""
    try:
        with open_graph(folder) as graph:
            for batch in range(2000):
                list(graph.run_text(BATCH, {"batch": batch, "text": "x" * 4000})[1])
                committed += 200
    except KgprobeError as error:
        complaint = str(error)
    ballast.unlink()
    with open_graph(folder) as graph:
        ((found,),) = (row.values() for row in graph.run_text(COUNT, {})[1])
        list(graph.run_text(BATCH, {"batch": -1, "text": "x"})[1])
        ((more,),) = (row.values() for row in graph.run_text(COUNT, {})[1])
    print(json.dumps({"committed": committed, "complaint": complaint, "found": found, "more": more}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
