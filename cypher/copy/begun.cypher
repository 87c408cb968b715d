// The copy that is at work in a graph, if one is.
// no parameters -> of: the state of the graph that is copied, stage, position
MATCH (copy:Copy)
RETURN copy.of AS of, copy.stage AS stage, copy.position AS position
