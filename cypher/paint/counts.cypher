// Number of painted relationships of each type.
// no parameters -> kind, count
MATCH ()-[painted:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT]->()
RETURN type(painted) AS kind, count(*) AS count
ORDER BY kind
