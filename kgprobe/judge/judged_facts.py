"""What a sweep keeps of each fact: columns in Parquet files."""

import pyarrow as pa

_PROBABILITIES = pa.list_(pa.float32(), 3)
_NEGATIVE = pa.struct(
    [
        ("text", pa.string()),
        ("replaced", pa.string()),
        ("subject", pa.string()),
        ("relation", pa.string()),
        ("object", pa.string()),
        ("judgement", pa.int8()),
        ("probabilities", _PROBABILITIES),
    ]
)

SCHEMA = pa.schema(
    [
        pa.field("fact", pa.string(), nullable=False),
        pa.field("subject", pa.string(), nullable=False),
        pa.field("relation", pa.string(), nullable=False),
        pa.field("object", pa.string(), nullable=False),
        ("subject_types", pa.list_(pa.string())),
        ("object_types", pa.list_(pa.string())),
        ("subject_degree", pa.int32()),
        ("object_degree", pa.int32()),
        ("subject_popularity", pa.float64()),
        ("object_popularity", pa.float64()),
        ("text", pa.string()),
        ("reason", pa.string()),
        ("judgement", pa.int8()),
        ("probabilities", _PROBABILITIES),
        ("negatives", pa.list_(_NEGATIVE)),
        ("correct", pa.float64()),
        ("truthful", pa.float64()),
        ("informative", pa.float64()),
    ]
)
