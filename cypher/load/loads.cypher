// Loads of the graph.
// no parameters -> id, source, finished, languages: codes of the languages of its names
MATCH (load:KgprobeLoad)
RETURN load.id AS id, load.source AS source, load.finished AS finished,
       coalesce(load.languages, []) AS languages
ORDER BY id
