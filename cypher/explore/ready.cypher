// Does the graph answer?
// -> answer
RETURN true AS answer
