// Labels and relationship types of the graph.
// -> kind (label, type), name
CALL () {
  CALL db.labels() YIELD label
  RETURN 'label' AS kind, label AS name
  UNION ALL
  CALL db.relationshipTypes() YIELD relationshipType
  RETURN 'type' AS kind, relationshipType AS name
}
RETURN kind, name
ORDER BY kind, name
