import numpy as np
import numpy.typing as npt

from mate.lake._arrays import SegmentView
from mate.lake.base import Ids

def mark(view: SegmentView, token: Ids, number: int, marks: npt.NDArray[np.uint64]) -> int: ...
def order_sets(view: SegmentView, token: Ids) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
