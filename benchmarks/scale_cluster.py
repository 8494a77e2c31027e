"""A build on a cluster that is not at hand: tasks on the next free core, storage that all of them share, and limits.

Simulated are the three phases of a build as it plans them. A task opens its files, reads, works and writes. Opening and
moving bytes are shared evenly by all tasks that do so at the time, each up to what one task can have; a core is shared
with nobody. The next task goes to the first core that is free, no faster than a driver sends tasks out.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import NamedTuple

from benchmarks.scale_model import BatchModel, BuildModel, SearchModel, segments_of
from mate.build.dictionary import IDS_PER_TASK
from mate.build.dictionary import PHASE as COUNT
from mate.build.segments import PHASE as WRITE
from mate.build.stage import PHASE as READ

UNIT = 64 << 20
"""Bytes that a task reads at the most (`mate.build.sources`)."""
STAGED_FILES = 8
"""Files that a task that has read a unit leaves for those that write segments."""
SEGMENT_FILES = 5
"""Files of a segment, besides one of cells for each unit in it."""
DAY = 86_400.0
MAPS = 65_530
"""Mappings that Linux lets a process have, unless told otherwise (vm.max_map_count)."""
PATIENCE = 60.0
"""Seconds that opening a lake may take."""
SLOW = 10.0
"""Seconds that a search may take."""
CELLS_PER_TABLE = 8.3e9 / 145e6
"""Of the paper's web tables: 8.3 billion postings in 145 million tables."""


@dataclass(frozen=True)
class Assumed:
    """What a cluster is assumed to be, and what is indexed there."""

    bandwidth: float = 5e9
    """Bytes per second of the shared storage, all tasks together."""
    link: float = 2.5e8
    """Bytes per second that one task reads or writes at the most."""
    open_seconds: float = 1e-3
    """To open a file on shared storage."""
    opens_per_second: float = 20_000.0
    """All tasks together."""
    task_seconds: float = 5e-3
    """That a Spark driver takes to send out a task and take its result."""
    memory: float = 256e9
    """Bytes of the largest machine."""
    raw_bytes_per_cell: float = 8.0
    """Of the files that are read."""
    staged_bytes_per_cell: float = 10.0
    """Between reading and writing segments: cells, codes, tokens."""
    cells_per_file: float = 1e6
    """Archives of many tables, as the web tables come."""


class Task(NamedTuple):
    """What a task does, in this order."""

    opens: float
    read: float
    """Bytes."""
    work: float
    """Seconds of a core."""
    written: float


class Shared:
    """Something that its users share evenly, each up to a limit: a clock of its own tells what each has had."""

    def __init__(self, total: float, each: float) -> None:
        self._total, self._each = total, each
        self._time = self._had = 0.0
        self._users: list[tuple[float, int]] = []

    def _rate(self) -> float:
        return min(self._each, self._total / max(1, len(self._users)))

    def _advance(self, time: float) -> None:
        self._had += self._rate() * (time - self._time)
        self._time = time

    def begin(self, time: float, user: int, amount: float) -> None:
        """Let a user have so much, from now on."""
        self._advance(time)
        heapq.heappush(self._users, (self._had + amount, user))

    def next(self) -> float:
        """Return when the next user has had all of it."""
        return self._time + max(0.0, self._users[0][0] - self._had) / self._rate() if self._users else inf

    def end(self) -> int:
        """Go on to that time, and return the user."""
        self._advance(self.next())
        return heapq.heappop(self._users)[1]


def simulate(tasks: Sequence[Task], cores: int, assumed: Assumed) -> float:
    """Return the seconds that tasks take on so many cores."""
    opening = Shared(assumed.opens_per_second, 1 / assumed.open_seconds)
    storage = Shared(assumed.bandwidth, assumed.link)
    working: list[tuple[float, int]] = []
    stage = [0] * len(tasks)
    now, sent, free, ready = 0.0, 0, cores, assumed.task_seconds
    ended = 0
    while ended < len(tasks):
        send = max(now, ready) if free and sent < len(tasks) else inf
        times = (send, opening.next(), storage.next(), working[0][0] if working else inf)
        now = min(times)
        if now == send:
            task, sent, free, ready = sent, sent + 1, free - 1, now + assumed.task_seconds
        else:
            task = opening.end() if now == times[1] else storage.end() if now == times[2] else heapq.heappop(working)[1]
            stage[task] += 1
        if stage[task] == len(Task._fields):
            ended, free = ended + 1, free + 1
        elif stage[task] == 0:
            opening.begin(now, task, tasks[task].opens)
        elif stage[task] == 2:
            heapq.heappush(working, (now + tasks[task].work, task))
        else:
            storage.begin(now, task, tasks[task][stage[task]])
    return now


@dataclass(frozen=True)
class Plan:
    """What a build of so many cells is cut into."""

    cells: float
    units: int
    segments: int
    ids: float
    """Distinct tokens of all units, those that several have counted for each."""
    files: float

    @property
    def count_tasks(self) -> int:
        """Tasks that count distinct tokens: each opens the ids of every unit."""
        return max(1, ceil(self.ids / IDS_PER_TASK))


def plan(model: BuildModel, cells: float, cores: int, assumed: Assumed) -> Plan:
    """Return what the build would plan."""
    size = min(max(cells * assumed.raw_bytes_per_cell / (8 * cores), 1 << 20), UNIT)
    units = max(1, ceil(cells * assumed.raw_bytes_per_cell / size))
    ids = units * model.tokens(cells / units)
    return Plan(cells, units, segments_of(cells, cores), ids, max(1.0, cells / assumed.cells_per_file))


def phases(model: BuildModel, planned: Plan, cores: int, assumed: Assumed) -> dict[str, float]:
    """Return the seconds of a build on a cluster, by phase."""
    cells, units, segments = planned.cells, planned.units, planned.segments
    staged = cells * assumed.staged_bytes_per_cell
    count = planned.count_tasks
    work = {phase: spent.slope * cells for phase, spent in model.work.items()}
    tasks = {
        READ: (units, Task(planned.files / units, cells * assumed.raw_bytes_per_cell, work[READ], staged)),
        COUNT: (count, Task(units, 8 * planned.ids, work[COUNT], 0.0)),
        WRITE: (
            segments,
            Task(STAGED_FILES * units / segments, staged, work[WRITE], model.index_bytes(cells, segments)),
        ),
    }
    driver = model.start.fixed + model.per_segment * segments + planned.files * assumed.open_seconds
    found = {"driver": driver}
    for phase, (number, all_of_it) in tasks.items():
        one = Task(all_of_it.opens, *(amount / number for amount in all_of_it[1:]))
        found[phase] = model.work[phase].fixed + simulate([one] * number, cores, assumed)
    return found


class Limit(NamedTuple):
    """Something that grows with a lake, and how much of it there may be."""

    what: str
    where: str
    unit: str
    at: Callable[[float], float]
    """By cells."""
    most: float

    def breaks_at(self) -> float:
        """Return the cells from which on it is too much."""
        low, high = 1e3, 1e18
        if self.at(low) > self.most:
            return low
        if self.at(high) <= self.most:
            return inf
        while high / low > 1.001:
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self.at(middle) > self.most else (middle, high)
        return high


def limits(model: BuildModel, search: SearchModel, batch: BatchModel, cores: int, assumed: Assumed) -> Iterator[Limit]:
    """Yield what may break, on a cluster of so many cores; see the places that are named."""

    def planned(cells: float) -> Plan:
        return plan(model, cells, cores, assumed)

    def maps(cells: float) -> float:
        return SEGMENT_FILES * planned(cells).segments + planned(cells).units

    arrays = [part for part in model.bytes_per_cell if part not in ("cells", "records", "manifest")]
    of_search = sum(model.bytes_per_cell[part] for part in arrays)

    def searched(cells: float) -> float:
        segments = segments_of(cells, cores)
        return of_search * cells + segments * model.tokens(cells / segments) * model.bytes_per_token

    per_file, per_table = assumed.cells_per_file, CELLS_PER_TABLE
    opens = assumed.opens_per_second
    yield Limit("the driver opens every file, one per table", "mate/corpus/formats.py", "s",
                lambda n: n / per_table * assumed.open_seconds, DAY)  # fmt: skip
    yield Limit(f"the driver opens every file, of {per_file:,.0f} cells", "mate/corpus/formats.py", "s",
                lambda n: n / per_file * assumed.open_seconds, DAY)  # fmt: skip
    yield Limit("every task that counts tokens opens the ids of every unit", "mate/build/dictionary.py", "s",
                lambda n: planned(n).count_tasks * planned(n).units / opens, DAY)  # fmt: skip
    yield Limit("work of a build on all cores", "mate/build", "s",
                lambda n: sum(w.slope for w in model.work.values()) * n / cores, DAY)  # fmt: skip
    yield Limit("storage moves what a build reads and writes", "storage", "s",
                lambda n: _moved(model, planned(n), assumed) / assumed.bandwidth, DAY)  # fmt: skip
    yield Limit("opening a lake maps its files one by one", "mate/lake/folder.py", "s",
                lambda n: maps(n) * assumed.open_seconds, PATIENCE)  # fmt: skip
    yield Limit("mappings of a process that has opened a lake", "mate/lake/segment_folder.py", "mappings",
                maps, MAPS)  # fmt: skip
    yield Limit("arrays of a search fit into one machine", "mate/search/engine.py", "bytes",
                searched, assumed.memory)  # fmt: skip
    yield Limit("a search by one machine, 95 %", "mate/search/engine.py", "s",
                lambda n: search.seconds(n)["95 %"], SLOW)  # fmt: skip
    yield Limit("a query of a batch, all cores", "mate/search/batches/tasks.py", "s",
                lambda n: 1 / batch.per_second(n, cores), SLOW)  # fmt: skip
    yield Limit("pairs of tokens with one 63-bit id", "mate/build/dictionary.py", "pairs",
                lambda n: model.tokens(n) ** 2 / 2**64, 1.0)  # fmt: skip


def _moved(model: BuildModel, planned: Plan, assumed: Assumed) -> float:
    """Return the bytes that a build reads and writes."""
    per_cell = assumed.raw_bytes_per_cell + 2 * assumed.staged_bytes_per_cell
    return per_cell * planned.cells + 8 * planned.ids + model.index_bytes(planned.cells, planned.segments)
