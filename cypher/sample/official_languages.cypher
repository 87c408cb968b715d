// Official languages of entities at a date: an entity's own (of a country), else those of the countries that it is in or from.
// $ids: [id], $countries: ids of relations to a country, $languages: ids of relations to an official language, $as_of: yyyymmdd
//   -> id, languages: [{id, label}], empty for an entity without such a country
UNWIND $ids AS id
MATCH (entity:Entity {id: id})
USING INDEX SEEK entity:Entity(id)
OPTIONAL MATCH (entity)-[official:FACT]->(language:Entity)
WHERE official.relation IN $languages
  AND coalesce(official.from, $as_of) <= $as_of AND coalesce(official.until, $as_of) >= $as_of AND official.ended IS NULL
WITH id, entity,
     collect(DISTINCT CASE WHEN language IS NULL THEN NULL ELSE {id: language.id, label: coalesce(language.label, '')} END) AS own
OPTIONAL MATCH (entity)-[lies:FACT]->(country:Entity)-[official:FACT]->(language:Entity)
WHERE lies.relation IN $countries AND official.relation IN $languages
  AND coalesce(lies.from, $as_of) <= $as_of AND coalesce(lies.until, $as_of) >= $as_of AND lies.ended IS NULL
  AND coalesce(official.from, $as_of) <= $as_of AND coalesce(official.until, $as_of) >= $as_of AND official.ended IS NULL
WITH id, own,
     collect(DISTINCT CASE WHEN language IS NULL THEN NULL ELSE {id: language.id, label: coalesce(language.label, '')} END)
       AS country
RETURN id, CASE WHEN size(own) > 0 THEN own ELSE country END AS languages
