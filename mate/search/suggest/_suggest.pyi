import numpy as np
import numpy.typing as npt

from mate.lake._arrays import SegmentView
from mate.lake.base import Ids
from mate.search.suggest.columns import Pairs
from mate.search.suggest.keys import MeasuredMappings, SamplePlaces, ValueCodes

def cover(view: SegmentView, places: Ids, rows: Ids, needed: int, room: Ids) -> tuple[Ids, Ids, Ids]: ...
def distinct_tuples(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]: ...
def longer_mappings(
    pairs: Pairs, measured: MeasuredMappings, unique: Ids, least: float, most: int, room: float
) -> Ids: ...
def check_mappings(
    view: SegmentView,
    own: Ids,
    column: Ids,
    sample: SamplePlaces,
    codes: ValueCodes,
    mappings: Ids,
    tuples: npt.NDArray[np.int32],
    tuple_first: Ids,
    least: float,
) -> Ids: ...
