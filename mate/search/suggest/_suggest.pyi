from mate.lake._arrays import SegmentView
from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.search.suggest.checks import Growing, Grown, Lookups
from mate.search.suggest.columns import SampledPlaces

def add_weights(view: SegmentView, places: Ids, weights: Ids) -> Ids: ...
def add_overlaps(
    values: Array, rows: Array, value_first: Ids, value_column: Array, most_columns: int, room: Ids
) -> tuple[Ids, Ids]: ...
def longer_mappings(growing: Growing, grown: Grown, unique: Ids, least: float, most: int) -> Ids: ...
def check_mappings(
    view: SegmentView,
    own: Ids,
    column: Ids,
    sample: SampledPlaces,
    lookups: Lookups,
    mappings: Ids,
    tuples: Array,
    places: Ids,
    least: float,
) -> Ids: ...
