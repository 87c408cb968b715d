"""Random orders that follow from a seed and from ids alone: neither the engine nor the order of loading has a say."""

from hashlib import blake2b


def seeded_number(seed: int, kind: str, identifier: str) -> int:
    """A number that follows from the seed, as good as random; in [0, 2**64).

    Args:
        kind: of what; numbers of one kind say nothing of those of another.
    """
    return int.from_bytes(blake2b(f"{seed} {kind} {identifier}".encode(), digest_size=8).digest(), "big")
