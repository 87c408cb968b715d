// Number of nodes and relationships of each kind. Scans the graph; a node counts once for each of its labels.
// -> kind (node, relationship), name, count
CALL () {
  MATCH (n)
  UNWIND labels(n) AS name
  RETURN 'node' AS kind, name, count(*) AS count
  UNION ALL
  MATCH ()-[r]->()
  RETURN 'relationship' AS kind, type(r) AS name, count(*) AS count
}
RETURN kind, name, count
ORDER BY kind, count DESC, name
