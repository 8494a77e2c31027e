from mate.hashing.superkey import Keys
from mate.values.arrow import Bytes, Offsets

def hash_strings(
    data: Bytes,
    offsets: Offsets,
    ranks: Bytes,
    order: Bytes,
    keys: Keys,
    wanted: int,
    beta: int,
    length_bits: int,
    with_length: bool,
    with_location: bool,
    rotated: bool,
) -> None: ...
