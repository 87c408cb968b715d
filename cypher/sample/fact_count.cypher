// Number of facts, to notice changes by hand of a graph that was read into columns. Neo4j stores it.
// no parameters -> facts
MATCH ()-[fact:FACT]->()
RETURN count(fact) AS facts
