from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mate.lake._arrays import SegmentView
from mate.search.best import Best
from mate.search.column_first._cover import Batch

def search_tables(
    view: SegmentView,
    batch: Batch,
    part: int,
    parts: int,
    filtering: bool,
    costs: NamedTuple,
    best: Best,
    cancelled: npt.NDArray[np.uint8],
) -> dict[str, int]: ...
