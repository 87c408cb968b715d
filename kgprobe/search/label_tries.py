"""The label tries of a graph for a tokenizer: made when first needed, kept in the user's folder, made anew when stale.

A trie holds the names of all members of a type, or of all objects of a relation, in the form in which they stand in a
template's blank (:mod:`kgprobe.verbalize.sentences`): a template that puts names in the same way shares it.
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

# Two templates put all names in the same way if they do so with these.
_TELLING = ("France", "Netherlands", "The Hague", "the Danube", "euro", " A Coruña ")


class NameSet(NamedTuple):
    """Entities whose names stand in one trie: the members of a type, or the objects of a relation, by its id."""

    kind: Literal["members", "objects"]
    id: str


class LabelTries:
    """The tries of one graph for one tokenizer; those that were opened stay open."""

    def __init__(self, graph: Graph, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Tries of this graph's names in the tokens of this tokenizer."""
        self._graph = graph
        self._tokenizer = tokenizer
        self._digest = _digest(tokenizer)
        self._state = ""
        self._open: dict[tuple[NameSet, tuple[str, ...]], LabelTrie] = {}

    def refresh(self) -> None:
        """Forget what is open where the graph was loaded into since."""
        state = graph_state(self._graph)
        if state != self._state:
            self._open.clear()
            self._state = state

    def open(self, names: NameSet, template: str) -> LabelTrie:
        """The trie of these entities' names as they fill the template's blank; see :meth:`refresh`.

        Cost: none when open; some milliseconds when kept; making it reads and tokenizes all names.

        Raises:
            KgprobeError: it cannot be written.
        """
        way = tuple(object_continuations(template, _TELLING))
        trie = self._open.get((names, way))
        if trie is None:
            trie = self._open[names, way] = self._kept(names, way, template)
        return trie

    def _kept(self, names: NameSet, way: tuple[str, ...], template: str) -> LabelTrie:
        made_from = {"graph": self._state, "tokenizer": self._digest, "names": names, "way": way}
        key = msgspec.json.encode(made_from, order="sorted").decode()
        # What is loaded into a graph makes its tries stale; they are replaced, not kept beside.
        name = msgspec.json.encode(made_from | {"graph": msgspec.json.decode(self._state)["uid"]}, order="sorted")
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
                f"The names of {names.id} cannot be kept in {folder}: {error.strerror}. KGPROBE_HOME names another"
                " place."
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
    """Of everything that decides how names become tokens: the tokenizer, and the code around it."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        text = f"{type(tokenizer).__name__} {sorted(tokenizer.get_vocab().items())}"
    else:
        text = backend.to_str()
    digest = hashlib.sha256(f"{FORMAT} {text}".encode())
    for module in (tokens, name_tokens, articles, sentences):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()
