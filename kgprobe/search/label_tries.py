"""Label tries of a graph for a tokenizer: built when first needed, cached in the user's folder, rebuilt when stale.

A trie contains the names of all members of a type, or of all objects of a relation, in the form that fills a template's
blank (:mod:`kgprobe.verbalize.sentences`). Templates that use the same form share a trie.
"""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import filelock
import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import home, make_folder
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.models.scoring import tokens
from kgprobe.progress import waiting
from kgprobe.search import name_tokens
from kgprobe.search.label_trie import FORMAT, LabelTrie
from kgprobe.search.label_trie_building import build_label_trie
from kgprobe.verbalize import articles, sentences
from kgprobe.verbalize.sentences import object_continuations

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Templates use the same form of all names if they do so for these.
_TYPICAL = ("France", "Netherlands", "The Hague", "the Danube", "euro", " A Coruña ")


class NameSet(NamedTuple):
    """Entities of one trie: the members of a type, or the objects of a relation, by its id."""

    kind: Literal["members", "objects"]
    id: str


class LabelTries:
    """Tries of one graph for one tokenizer; opened tries stay open."""

    def __init__(self, graph: Graph, tokenizer: "PreTrainedTokenizerBase") -> None:
        self._graph = graph
        self._tokenizer = tokenizer
        self._digest = _digest(tokenizer)
        self._state = ""
        self._open: dict[tuple[NameSet, tuple[str, ...]], LabelTrie] = {}

    def refresh(self) -> None:
        """Close the tries if the graph has changed."""
        state = graph_state(self._graph)
        if state != self._state:
            self._open.clear()
            self._state = state

    def open(self, names: NameSet, template: str) -> LabelTrie:
        """Return the trie of these entities' names in the form that fills the template's blank; see :meth:`refresh`.

        Cost: none if open; some milliseconds if cached; building it reads and tokenizes all names.

        Raises:
            KgprobeError: The trie cannot be written.
        """
        forms = tuple(object_continuations(template, _TYPICAL))
        trie = self._open.get((names, forms))
        if trie is None:
            trie = self._open[names, forms] = self._cached(names, forms, template)
        return trie

    def _cached(self, names: NameSet, forms: tuple[str, ...], template: str) -> LabelTrie:
        source = {"graph": self._state, "tokenizer": self._digest, "names": names, "way": forms}
        key = msgspec.json.encode(source, order="sorted").decode()
        # The file name lacks the state of the graph, so that a new trie replaces the stale one.
        name = msgspec.json.encode(source | {"graph": msgspec.json.decode(self._state)["uid"]}, order="sorted")
        folder = home() / "tries"
        make_folder(folder)
        path = folder / f"{hashlib.sha256(name).hexdigest()[:32]}.trie"
        try:
            with filelock.FileLock(path.with_suffix(".lock")):
                trie = _opened(path, key)
                if trie is None:
                    with waiting(f"Reading the names of {names.kind} of {names.id}"):
                        build_label_trie(path, key, self._tokenizer, self._texts(names, template))
                    trie = LabelTrie(path)
        except OSError as error:
            raise KgprobeError(
                f"The names of {names.id} cannot be cached in {folder}: {error.strerror}. Set KGPROBE_HOME to another"
                " folder."
            ) from error
        return trie

    def _texts(self, names: NameSet, template: str) -> Iterator[tuple[int, list[str]]]:
        query = "sample/member_names" if names.kind == "members" else "sample/object_names"
        for row in self._graph.stream(query, id=names.id):
            yield row["number"], object_continuations(template, row["names"])


def _opened(path: Path, key: str) -> LabelTrie | None:
    if path.is_dir():
        shutil.rmtree(path)
    try:
        trie = LabelTrie(path)
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None
    return trie if trie.key == key else None


def _digest(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Return a digest of everything that determines the tokens of names: the tokenizer and the code around it."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        text = f"{type(tokenizer).__name__} {sorted(tokenizer.get_vocab().items())}"
    else:
        text = backend.to_str()
    digest = hashlib.sha256(f"{FORMAT} {text}".encode())
    for module in (tokens, name_tokens, articles, sentences):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()
