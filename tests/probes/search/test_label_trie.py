"""Label tries: every name is found again, with its entity, and nothing else; also through the file."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tokenizers import Tokenizer, models, normalizers
from transformers import PreTrainedTokenizerFast

from kgprobe.models.scoring.tokens import tokenize
from kgprobe.probes.search.label_tries import LabelTrie, agrees, build_label_trie, sort_sequences
from tests.models.tiny import byte_level, unigram

TOKENIZERS = {"byte level": byte_level(), "unigram": unigram()}

# Few letters, so that names share beginnings, go on one another, and are the same for several entities.
names = some.text("abN Łz'", min_size=1, max_size=7).filter(str.strip).map(str.strip)
entities = some.dictionaries(some.integers(0, 10**6), some.lists(names, unique=True, max_size=5), max_size=12)


def built(tmp_path: Path, tokenizer: PreTrainedTokenizerFast, named: dict[int, list[str]], key: str = "k") -> LabelTrie:
    build_label_trie(tmp_path / "one.trie", key, tokenizer, named.items())
    return LabelTrie(tmp_path / "one.trie")


def expected(tokenizer: PreTrainedTokenizerFast, name: str) -> tuple[int, ...]:
    """Return the tokens behind a prompt of many words, by the scorer's rule."""
    (prompt,) = tokenize(tokenizer, ["The capital of Japan is"], [[name]])
    return prompt.tails[0]


def walk(trie: LabelTrie, prefix: tuple[int, ...] = (), low: int = 0, high: int | None = None) -> dict[int, tuple]:
    """Return every label by going from prefix to prefix, with the tokens on the way."""
    high = len(trie) if high is None else high
    follow = trie.follow(np.array([low]), np.array([high]), np.array([len(prefix)]))
    found = {int(label): prefix for label in follow.label}
    assert len(set(follow.token.tolist())) == len(follow.token)
    assert [low + len(found), *follow.high] == [*follow.low, high], "the ranges are those of the labels, without a gap"
    for token, first, last in zip(follow.token, follow.low, follow.high, strict=True):
        found |= walk(trie, (*prefix, int(token)), int(first), int(last))
    return found


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(deadline=None, max_examples=40)
@given(named=entities)
def test_every_name_is_found_again_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, kind: str, named: dict[int, list[str]]
) -> None:
    tokenizer = TOKENIZERS[kind]
    trie = built(tmp_path_factory.mktemp("trie"), tokenizer, named)
    written = Counter((number, expected(tokenizer, name)) for number, its in named.items() for name in its)
    found = walk(trie)
    assert sorted(found) == list(range(len(trie)))
    owners = trie.owner_numbers(np.arange(len(trie))).tolist()
    assert Counter((owners[label], tokens) for label, tokens in found.items()) == written
    assert all(trie.sequence(label) == tokens for label, tokens in found.items())
    assert trie.lengths.tolist() == [len(trie.sequence(label)) for label in range(len(trie))]
    # From an entity to its names.
    with_names = sorted(number for number, its in named.items() if its)
    assert trie.entities.tolist() == with_names
    places = trie.find(np.array([*with_names, 10**6 + 1]))
    assert places.tolist() == [*range(len(with_names)), -1]
    which, labels = trie.labels_of(places[:-1])
    for place, number in enumerate(with_names):
        its = [trie.sequence(label) for label in labels[which == place]]
        assert Counter(its) == Counter(expected(tokenizer, name) for name in named[number])
        assert trie.names(np.array([place])) == len(its)
        assert trie.repeats(np.array([place])) == max(Counter(its).values())
    assert trie.longest == max((len(tokens) for _, tokens in written), default=0)
    assert trie.most_names == max(map(len, named.values()), default=0)


@given(some.lists(some.lists(some.integers(0, 3), max_size=5), max_size=30))
def test_sequences_are_sorted_with_what_neighbours_share(sequences: list[list[int]]) -> None:
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    tokens = np.array([token for sequence in sequences for token in sequence], dtype=np.int32)
    order, common = sort_sequences(tokens, np.cumsum(lengths) - lengths, lengths)
    assert order.tolist() == sorted(range(len(sequences)), key=lambda place: sequences[place])
    assert common.tolist() == [0, *map(shared, order[:-1], order[1:], [sequences] * len(order))][: len(order)]


def shared(one: int, other: int, sequences: Sequence[list[int]]) -> int:
    pairs = zip(sequences[one], sequences[other], strict=False)
    return next(
        (place for place, (a, b) in enumerate(pairs) if a != b), min(len(sequences[one]), len(sequences[other]))
    )


def test_large_ranges_and_small_ones_are_followed_alike(tmp_path: Path) -> None:
    named = {number: [f"N{number:05d}"] for number in range(6_000)}
    trie = built(tmp_path, byte_level(), named)
    found = walk(trie)
    assert len(found) == 6_000
    low, high, depth = np.array([0, 10, 0, 0]), np.array([6_000, 20, 0, 6_000]), np.array([1, 1, 1, 0])
    together = trie.follow(low, high, depth)
    for place in range(4):
        alone = trie.follow(low[[place]], high[[place]], depth[[place]])
        assert together.token[together.source == place].tolist() == alone.token.tolist()
        assert together.high[together.source == place].tolist() == alone.high.tolist()
        assert together.label[together.ended == place].tolist() == alone.label.tolist()


def test_entities_with_empty_tokens_are_left_out_reported(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("\x01", ""), normalizers.Strip()]
    )
    trie = built(tmp_path, tokenizer, {1: ["York", "\x01"], 2: ["York"], 3: ["\x01"]})
    assert trie.entities.tolist() == [2]
    assert len(trie) == 1
    assert trie.left_out == [(1, "\x01"), (3, "\x01")]


def test_names_whose_tokens_depend_on_the_prompt_are_noticed(tmp_path: Path) -> None:
    # Without pre-tokenization a token may hold the end of the prompt and the beginning of a name.
    vocabulary = {letter: number for number, letter in enumerate("abcis T")} | {"s ": 7, "s T": 8}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.BPE(vocabulary, [("s", " "), ("s ", "T")])), unk_token="a"
    )
    trie = built(tmp_path, tokenizer, {1: ["Ta"], 2: ["ba"]})
    assert trie.crossing == 0
    assert sorted(trie.samples) == ["Ta", "ba"]
    assert agrees(tokenizer, "abc", trie.samples)
    assert not agrees(tokenizer, "abc is", trie.samples)
    # Behind the anchor itself.
    crossing = vocabulary | {"a ": 9}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE(crossing, [("a", " ")])), unk_token="b")
    assert built(tmp_path, tokenizer, {1: ["Ta"], 2: ["ba"]}).crossing == 2


def test_prompts_agree_where_a_space_is_a_boundary(tmp_path: Path) -> None:
    for tokenizer in TOKENIZERS.values():
        trie = built(tmp_path, tokenizer, {1: ["York", "New York"], 2: ["Łódź"]})
        assert trie.crossing == 0
        assert all(agrees(tokenizer, prompt, trie.samples) for prompt in ("The capital is", "York", "Zürich:"))


def test_what_is_no_whole_trie_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.trie"
    built(tmp_path, byte_level(), {1: ["York"]}, key="made from this")
    assert LabelTrie(path).key == "made from this"
    whole = path.read_bytes()
    for damaged in (b"", whole[:10], whole[:40], whole[:-1], b"x" + whole[1:], whole[:16] + b"\xff" + whole[17:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="trie"):
            LabelTrie(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["one.trie"]


def test_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken():
        yield 1, ["York"]
        raise OSError("the graph is gone")

    with pytest.raises(OSError, match="the graph is gone"):
        build_label_trie(tmp_path / "one.trie", "k", byte_level(), broken())
    assert not list(tmp_path.iterdir())


def test_label_takes_no_more_than_sixty_bytes(tmp_path: Path) -> None:
    built(tmp_path, byte_level(), {number: [f"York {number:04x}"] for number in range(20_000)})
    assert (tmp_path / "one.trie").stat().st_size < 60 * 20_000
