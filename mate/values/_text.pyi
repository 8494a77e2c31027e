import numpy as np
import numpy.typing as npt

from mate.values.arrow import Bytes, Offsets

def normalise_ascii(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets, npt.NDArray[np.bool_]]: ...
def hash_bytes(data: Bytes, offsets: Offsets) -> npt.NDArray[np.int64]: ...
