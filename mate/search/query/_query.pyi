from mate.lake.base import Ids
from mate.values.arrow import Bytes

def number_key(text: Bytes, bounds: Ids, nulls: int, width: int) -> tuple[Ids, Ids, Ids]: ...
