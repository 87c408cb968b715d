"""Random orders by hashes of a seed and ids, the same for every engine and order of loading."""

from hashlib import blake2b


def seeded_number(seed: int, kind: str, identifier: str) -> int:
    """Return a pseudorandom number in [0, 2**64), a hash of seed, kind and id.

    Args:
        kind: purpose of the number; numbers of different kinds are independent.
    """
    return int.from_bytes(blake2b(f"{seed} {kind} {identifier}".encode(), digest_size=8).digest(), "big")
