"""Tables of triples without a header (FB15k, Wikidata5M, CoDEx), and files of labels of their ids.

A line of a table is ``subject<TAB>relation<TAB>object``. A line of labels is ``id<TAB>label`` with any number of other
names; a file of JSON has a label, and perhaps a description, by id.
"""

import json
from collections.abc import Iterator, Mapping

from kgprobe.base.records import Rejected
from kgprobe.sources.lines import InputFile
from kgprobe.sources.values import check_id, tidy

from .store import Store, place_of

# Rows between two looks at what waits to be written.
_BATCH = 8192


def read_table(store: Store, number: int, file: InputFile, relations: frozenset[str]) -> None:
    """Read the facts of a table into a store.

    Args:
        relations: relations whose facts are read; all if empty.
    """
    for line, cells in _rows(store, number, file):
        try:
            if len(cells) != 3:
                raise ValueError(f"expected 3 columns (subject, relation, object), found {len(cells)}")
            subject, relation, object_ = map(check_id, cells)
        except ValueError as error:
            store.report(place_of(number, line), str(error))
            continue
        if not relations or relation in relations:
            store.rows["facts"].extend((subject, relation, place_of(number, line), object_))


def read_labels(store: Store, number: int, file: InputFile) -> None:
    """Read the labels of entities and relations into a store; the first label of an id counts."""
    first = next(filter(None, (line.strip() for _, line in file.lines() if isinstance(line, bytes))), b"")
    rows = _json_rows(store, number, file) if first.startswith(b"{") else _rows(store, number, file)
    for line, (id_, *names) in rows:
        place = place_of(number, line)
        texts = [*map(tidy, names)]
        if len(texts) == 0 or not texts[0]:
            store.report(place, "expected an id, a tab and a label")
            continue
        for kind, text in zip("l" + "a" * len(texts), texts, strict=False):
            store.rows["notes"].extend((id_, kind, 0, place, text))


def _rows(store: Store, number: int, file: InputFile) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a file with their columns, and report those that cannot be read."""
    for line, content in file.lines():
        if isinstance(content, Rejected):
            store.report(place_of(number, line), content.reason, content.broken_off)
            continue
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            store.report(place_of(number, line), f"not UTF-8: {error.reason} at byte {error.start + 1}")
            continue
        if text.strip():
            yield line, [cell.strip() for cell in text.split("\t")]
        if not line % _BATCH:
            store.write()


def _json_rows(store: Store, number: int, file: InputFile) -> Iterator[tuple[int, list[str]]]:
    """Yield id and label of JSON such as CoDEx's; its descriptions go into the store."""
    pieces = [piece for piece in file.pieces() if isinstance(piece, bytes)]
    try:
        described = json.loads(b"".join(pieces))
    except ValueError as error:
        store.report(place_of(number, 1), f"not JSON: {error}")
        return
    for id_, values in described.items():
        if not isinstance(values, Mapping):
            values = {"label": values}
        if description := tidy(str(values.get("description", ""))):
            store.rows["notes"].extend((id_, "d", 0, place_of(number, 1), description))
        yield 1, [id_, str(values.get("label", ""))]
