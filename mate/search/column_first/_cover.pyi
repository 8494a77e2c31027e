import numpy as np
import numpy.typing as npt

from mate.lake._arrays import SegmentView

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]

class Cover:
    def __len__(self) -> int: ...
    def bound_of(self, number: int) -> int: ...

class TableBatch:
    def __len__(self) -> int: ...
    @property
    def entries(self) -> int: ...

def cover(view: SegmentView, places: Ids, numbers: Ids, count: int, wanted: Flags, cancelled: Flags) -> Cover: ...
def collect(
    view: SegmentView, cover: Cover, start: int, size: int, words: int, floor: int, cancelled: Flags
) -> TableBatch: ...
