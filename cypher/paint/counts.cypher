// Number of painted relationships of each type.
// no parameters -> kind, count
MATCH ()-[painted:KNOWN|LEANS_KNOWN|LEANS_UNKNOWN|UNKNOWN|EXPECTED|LEARNED|FORGOT]->()
RETURN type(painted) AS kind, count(*) AS count
ORDER BY kind
