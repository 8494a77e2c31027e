import numpy as np
import numpy.typing as npt

from mate.lake._arrays import SegmentView
from mate.lake.base import Ids
from mate.search.algorithm_1 import MemoryLimits, Task
from mate.search.best import Best

def group_runs(view: SegmentView, token: Ids, wanted: npt.NDArray[np.uint8]) -> tuple[Ids, Ids, Ids, Ids]: ...
def scan_groups(task: Task, order: Ids, best: Best, limits: MemoryLimits) -> dict[str, int]: ...
