from mate.lake._arrays import SegmentView
from mate.search.best import Best
from mate.search.column_first import Costs
from mate.search.column_first._cover import Flags, TableBatch

def search_tables(
    view: SegmentView,
    batch: TableBatch,
    part: int,
    parts: int,
    filtering: bool,
    costs: Costs,
    best: Best,
    cancelled: Flags,
) -> dict[str, int]: ...
