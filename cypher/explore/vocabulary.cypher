// Labels, relationship types and property keys of the graph. The embedded engine returns no keys.
// -> kind (label, type, property), name
CALL () {
  CALL db.labels() YIELD label
  RETURN 'label' AS kind, label AS name
  UNION ALL
  CALL db.relationshipTypes() YIELD relationshipType
  RETURN 'type' AS kind, relationshipType AS name
  UNION ALL
  CALL db.propertyKeys() YIELD propertyKey
  RETURN 'property' AS kind, propertyKey AS name
}
RETURN kind, name
ORDER BY kind, name
