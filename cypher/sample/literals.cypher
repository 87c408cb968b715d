// Numbers of all literals. Scans the literals; read where they are few.
// $ids: [""] -> id, numbers: [number]
UNWIND $ids AS id
MATCH (literal:Literal)
RETURN id, collect(literal.number) AS numbers
