// How many relationships are painted, of each kind.
// no parameters -> kind, count
MATCH ()-[painted:KNOWN|UNSURE|UNKNOWN|LEARNED|FORGOT]->()
RETURN type(painted) AS kind, count(*) AS count
ORDER BY kind
