import numpy as np
import numpy.typing as npt

from mate.lake.base import Ids

_Bytes = npt.NDArray[np.uint8]

def number_key(
    text: _Bytes, bounds: Ids, width: int, nulls: _Bytes, null_bounds: Ids
) -> tuple[_Bytes, Ids, Ids, Ids]: ...
