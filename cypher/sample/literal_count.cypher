// Number of literals.
// no parameters -> literals
MATCH (literal:Literal)
RETURN count(literal) AS literals
