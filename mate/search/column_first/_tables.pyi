from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake._arrays import SegmentView
from mate.search.best import Best
from mate.search.column_first._cover import Batch

Ids = npt.NDArray[np.int64]

def search_tables(
    view: SegmentView,
    batch: Batch,
    numbers: Ids,
    filtering: bool,
    costs: NamedTuple,
    best: Best,
    cancelled: npt.NDArray[np.uint8],
) -> dict[str, int]: ...
def order_tables(batch: Batch) -> Ids: ...
