"""Croissant metadata (MLCommons, version 1.0) of a published label table."""

from collections.abc import Sequence
from typing import Any

from kgprobe.exports.hub.columns import Column

_TYPES = {"text": "sc:Text", "number": "sc:Float", "count": "sc:Integer"}
# Names that the format takes from its own vocabulary; by its specification, every file has this context.
_CROISSANT_NAMES = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _CROISSANT_NAMES},
}
_FILE, _FACTS = "facts.parquet", "facts"


def croissant_of(
    name: str, description: str, licence: str | None, path: str, sha256: str, columns: Sequence[Column]
) -> dict[str, Any]:
    """Return the metadata of one Parquet file, as JSON-LD.

    Args:
        name: title of the data set.
        path: of the file, relative to the metadata.
        sha256: digest of the file.
    """
    file = {"@type": "cr:FileObject", "@id": _FILE, "name": _FILE, "contentUrl": path}
    file |= {"encodingFormat": "application/x-parquet", "sha256": sha256}
    fields = []
    for column in columns:
        source = {"fileObject": {"@id": _FILE}, "extract": {"column": column.name}}
        field = {"@type": "cr:Field", "@id": f"{_FACTS}/{column.name}", "name": column.name}
        fields.append({**field, "description": column.description, "dataType": _TYPES[column.type], "source": source})
    records = {"@type": "cr:RecordSet", "@id": _FACTS, "name": _FACTS, "field": fields}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": description,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **({} if licence is None else {"license": licence}),
        "distribution": [file],
        "recordSet": [{**records, "key": {"@id": f"{_FACTS}/fact"}}],
    }
