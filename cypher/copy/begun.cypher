// The copy in progress, if any.
// no parameters -> of: state of the original graph, stage, position
MATCH (copy:KgprobeCopy)
RETURN copy.of AS of, copy.stage AS stage, copy.position AS position
