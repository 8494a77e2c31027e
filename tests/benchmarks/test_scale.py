"""The model of larger lakes: made-up measurements whose law is known, schedules that can be counted by hand."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.scale import series
from benchmarks.scale_cluster import Assumed, Limit, Task, limits, phases, plan, simulate
from benchmarks.scale_model import (
    batch_points,
    fit_batch,
    fit_build,
    fit_line,
    fit_power,
    fit_search,
    leave_out_largest,
    segments_of,
    spark_cores,
)
from mate.build.dictionary import PHASE as COUNT
from mate.build.segments import PHASE as WRITE
from mate.build.stage import PHASE as READ
from mate.errors import MateError

SIZES = (1_000_000, 10_000_000, 40_000_000, 200_000_000)


def tokens(cells: float) -> float:
    return float(30 * cells**0.6)


def made_build(cells: int, cores: int = 2) -> dict[str, Any]:
    """A build that follows the model exactly."""
    segments = segments_of(cells, cores)
    seconds = {
        "find files": 0.5,
        "start Spark": 4.0,
        READ: 1.0 + 2e-6 * cells / cores,
        COUNT: 0.5 + 1e-7 * cells / cores,
        WRITE: 1e-6 * cells / min(cores, segments),
        "publish": 0.01 * segments,
        "other": 2.0,
    }
    index_bytes = {"postings": 2 * cells, "dictionary": round(20 * segments * tokens(cells / segments))}
    return {
        "label": "synthetic", "cells": cells, "cores": cores, "segments": segments, "seconds": seconds,
        "distinct_tokens": round(tokens(cells)), "index_bytes": index_bytes,
    }  # fmt: skip


def made_lake(cells: int) -> dict[str, Any]:
    """Searches of which each takes 2 ms to prepare and grows with its own factor."""
    measurements = [
        {"system": system, "seconds": 0.002 + number * 1e-6 * cells**0.5, "phases": {"prepare": 0.002}}
        for number in range(1, 22)
        for system in ("column-first", "mate")
    ]
    unfinished: dict[str, Any] = {"system": "column-first", "seconds": None, "phases": {}}
    return {"label": "synthetic", "cells": cells, "measurements": [*measurements, unfinished]}


def made_batch(cells: int, segments: int, masters: dict[str, int]) -> dict[str, Any]:
    """Batches whose queries cost 2 ms and a power of the share, in each share."""
    ways = [{"way": "one by one", "processor_seconds": 99.0, "queries": 10}]
    for master, shares in masters.items():
        cost = shares * (0.002 + 1e-5 * (cells / shares) ** 0.5)
        ways.append({"way": master, "processor_seconds": 10 * cost, "queries": 10})
    return {"lake": {"cells": cells}, "segments": segments, "ways": ways}


def test_powers_and_lines_are_recovered() -> None:
    power = fit_power([(n, 3 * n**0.7) for n in (10, 100, 5_000)])
    assert power == pytest.approx((3, 0.7))
    assert fit_line([(n, 12 + 0.5 * n) for n in (1, 10, 10_000)]) == pytest.approx((12, 0.5))


def test_lines_have_no_negative_part() -> None:
    assert fit_line([(10, 20.0), (100, 400.0)]).fixed == 0
    assert fit_line([(10, 20.0), (100, 10.0)]).slope == 0
    assert fit_line([]) == (0, 0)
    assert fit_power([(5, 2.0)])(50) == pytest.approx(2)


def test_a_build_is_recovered() -> None:
    model = fit_build([made_build(cells) for cells in SIZES])
    assert model.start.fixed == pytest.approx(6.5)
    assert model.start.slope == pytest.approx(0, abs=1e-12)
    assert model.work[READ] == pytest.approx((2.0, 2e-6))
    assert model.work[WRITE] == pytest.approx((0, 1e-6), abs=1e-9)
    assert model.per_segment == pytest.approx(0.01)
    assert model.tokens == pytest.approx((30, 0.6), rel=1e-4)
    assert model.bytes_per_token == pytest.approx(20, rel=1e-4)
    assert model.bytes_per_cell == {"postings": pytest.approx(2)}
    larger = made_build(3_000_000_000, cores=64)
    assert model.seconds(3e9, 64) == pytest.approx(sum(larger["seconds"].values()), rel=0.02)
    assert model.index_bytes(3e9, larger["segments"]) == pytest.approx(sum(larger["index_bytes"].values()), rel=1e-3)


def test_segments_are_those_of_a_build() -> None:
    assert segments_of(1e6, 8) == 1
    assert segments_of(9e6, 8) == 4
    assert segments_of(1e8, 8) == 8
    assert segments_of(8.3e9, 8) == 155


def test_a_search_is_recovered() -> None:
    model = fit_search([made_lake(cells) for cells in SIZES])
    assert model.prepare == pytest.approx(0.002)
    assert model.growth["median"] == pytest.approx((11e-6, 0.5))
    assert model.growth["95 %"] == pytest.approx((20e-6, 0.5))
    assert model.seconds(10_000)["most"] == pytest.approx(0.002 + 21e-4)


def test_what_was_not_searched_is_an_error() -> None:
    other = {"label": "", "cells": 5, "measurements": [{"system": "mate", "seconds": 1.0, "phases": {}}]}
    with pytest.raises(MateError, match="no measurement of column-first"):
        fit_search([other])


def test_a_batch_is_recovered_from_several_shares() -> None:
    search = fit_search([made_lake(cells) for cells in SIZES])
    batch = made_batch(160_000_000, 8, {"threads": 1, "local[2]": 4, "local-cluster[3,2,1024]": 8})
    assert [cells for cells, _ in batch_points(batch)] == [160_000_000, 40_000_000, 20_000_000]
    model = fit_batch([batch], search)
    assert model.growth == pytest.approx((1e-5, 0.5))
    assert model.per_second(4e8, 4) == pytest.approx(4 / (8 * (0.002 + 1e-5 * 5e7**0.5)))


def test_one_share_takes_the_exponent_of_searches() -> None:
    search = fit_search([made_lake(cells) for cells in SIZES])
    assert fit_batch([made_batch(10_000, 1, {"threads": 1})], search).growth == pytest.approx((1e-5, 0.5))
    assert fit_batch([], search).growth == search.growth["median"]


@pytest.mark.parametrize(
    ("master", "cores"), [("local[2]", 2), ("local-cluster[2,3,1024]", 6), ("threads", 0), ("spark://host:7077", 0)]
)
def test_cores_of_a_master(master: str, cores: int) -> None:
    assert spark_cores(master) == cores


def test_the_largest_is_predicted_without_it() -> None:
    builds, lakes = [made_build(cells) for cells in SIZES], [made_lake(cells) for cells in SIZES]
    found = {one.figure: one for one in leave_out_largest(builds, lakes)}
    assert set(found) > {"build, s", "distinct tokens", "bytes per cell", "search, ms, median"}
    assert all(abs(one.error) < 0.02 for one in found.values())
    builds[-1]["seconds"][READ] += sum(builds[-1]["seconds"].values())  # twice the seconds, which only the error sees
    slower = {one.figure: one for one in leave_out_largest(builds, lakes)}
    assert slower["build, s"].error == pytest.approx(-0.5, abs=0.02)
    assert slower["build, s"].predicted == found["build, s"].predicted
    assert leave_out_largest(builds[:2], lakes[:2]) == []


# Schedules

FREE = Assumed(bandwidth=1e30, link=1e30, open_seconds=1e-12, opens_per_second=1e30, task_seconds=0.0)


@pytest.mark.parametrize(("tasks", "cores", "seconds"), [(1, 1, 3), (7, 2, 12), (8, 4, 6), (3, 100, 3), (0, 5, 0)])
def test_tasks_go_to_the_first_free_core(tasks: int, cores: int, seconds: float) -> None:
    assert simulate([Task(0, 0, 3.0, 0)] * tasks, cores, FREE) == pytest.approx(seconds)


def test_the_longest_last_is_waited_for() -> None:
    work = [Task(0, 0, seconds, 0) for seconds in (1.0, 1.0, 1.0, 1.0, 6.0)]
    assert simulate(work, 2, FREE) == pytest.approx(8)
    assert simulate(work[::-1], 2, FREE) == pytest.approx(6)


def test_storage_is_shared() -> None:
    slow = Assumed(bandwidth=100.0, link=60.0, open_seconds=1e-12, opens_per_second=1e30, task_seconds=0.0)
    assert simulate([Task(0, 120, 0, 0)], 4, slow) == pytest.approx(2)  # what one task can have
    assert simulate([Task(0, 60, 0, 40)] * 4, 4, slow) == pytest.approx(4)  # what all can have
    assert simulate([Task(0, 60, 10, 0), Task(0, 90, 0, 0)], 2, slow) == pytest.approx(1.2 + 10)


def test_opening_and_sending_out_are_limited() -> None:
    assert simulate([Task(500, 0, 0, 0)], 1, Assumed(open_seconds=0.01, task_seconds=0.0)) == pytest.approx(5)
    many = Assumed(open_seconds=0.01, opens_per_second=200.0, task_seconds=0.0)
    assert simulate([Task(500, 0, 0, 0)] * 4, 4, many) == pytest.approx(10)
    assert simulate([Task(0, 0, 0.001, 0)] * 50, 100, Assumed(task_seconds=0.2)) == pytest.approx(10.001)


def test_a_build_on_a_cluster_is_the_work_where_nothing_else_counts() -> None:
    model = fit_build([made_build(cells) for cells in SIZES])
    planned = plan(model, 8.3e9, 8, FREE)
    assert (planned.units, planned.segments) == (990, 155)
    found = phases(model, planned, 8, FREE)
    assert found[READ] == pytest.approx(2.0 + 2e-6 * 8.3e9 / 8, rel=0.01)
    assert found[WRITE] == pytest.approx(1e-6 * 8.3e9 / 8, rel=0.04)  # 155 segments on 8 cores
    slow = phases(model, planned, 8, Assumed(bandwidth=1e7))
    assert slow[WRITE] > 8.3e9 * 12 / 1e7


def test_limits_break_where_they_are_reached() -> None:
    assert Limit("", "", "", lambda cells: cells**2, 1e12).breaks_at() == pytest.approx(1e6, rel=0.01)
    assert Limit("", "", "", lambda _: 1.0, 2.0).breaks_at() == inf
    assert Limit("", "", "", lambda cells: cells, 1.0).breaks_at() <= 1e3


def test_tokens_that_share_an_id_are_counted() -> None:
    build = fit_build([made_build(cells) for cells in SIZES])
    search = fit_search([made_lake(cells) for cells in SIZES])
    found = {limit.what: limit for limit in limits(build, search, fit_batch([], search), 64, Assumed())}
    shared = found["pairs of tokens with one 63-bit id"]
    cells = (70e9 / 30) ** (1 / 0.6)
    assert shared.at(cells) == pytest.approx(266, rel=0.01)
    assert build.tokens(shared.breaks_at()) == pytest.approx(2**32, rel=0.01)


# The command


def written(folder: Path) -> tuple[Path, Path]:
    indexing, search = folder / "indexing.json", folder / "search.json"
    given = {**made_build(77), "label": ""}  # another kind of lake
    indexing.write_text(json.dumps({"builds": [given, *(made_build(cells) for cells in SIZES)]}))
    search.write_text(json.dumps([made_lake(cells) for cells in SIZES]))
    return indexing, search


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    indexing, search = written(tmp_path)
    batches, out = tmp_path / "batches.json", tmp_path / "out.json"
    batches.write_text(json.dumps(made_batch(40_000_000, 4, {"threads": 1, "local[2]": 4})))
    options = ["--batches", str(batches), "--predict", "500,8300", "--cores", "64", "--json", str(out)]
    assert main(["scale", "--indexing", str(indexing), "--search", str(search), *options]) == 0
    printed = capsys.readouterr().out
    for text in ("build, s", "largest size left out", "what breaks, on 64 cores", "8,300,000,000", "bandwidth 5e+09"):
        assert text in printed
    found = json.loads(out.read_text())
    assert [one["cells"] for one in found["predicted"]] == [5e8, 8.3e9]
    assert all(abs(one["error"]) < 0.02 for one in found["left_out"])
    ends = [one["breaks_at_cells"] for one in found["limits"] if one["breaks_at_cells"] is not None]
    assert ends == sorted(ends)
    assert found["clusters"][1]["slowest"] in found["clusters"][1]["build_seconds"]


def test_a_size_that_was_measured_later_is_predicted_from_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    indexing, search = written(tmp_path)
    later, searched, out = tmp_path / "later.json", tmp_path / "searched.json", tmp_path / "out.json"
    later.write_text(json.dumps({"builds": [made_build(500_000_000)]}))
    searched.write_text(json.dumps([made_lake(500_000_000)]))
    files = [("--indexing", indexing), ("--indexing", later), ("--search", search), ("--search", searched)]
    assert main(["scale", *(str(part) for pair in files for part in pair), "--json", str(out)]) == 0
    assert "500,000,000" in capsys.readouterr().out
    found = json.loads(out.read_text())["left_out"]
    assert {(one["cells"], one["sizes"]) for one in found} == {(500_000_000, len(SIZES))}
    assert all(abs(one["error"]) < 0.02 for one in found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--predict", "1,x"], "--predict takes numbers such as 500,8300,830000, not '1,x'"),
        (["--cores", "0"], "--cores takes numbers"),
        (["--assume", "speed=3"], "--assume takes bandwidth, cells_per_file"),
        (["--assume", "link=fast"], "--assume link takes numbers"),
        (["--search", "indexing.json.not"], "indexing.json.not"),
    ],
)
def test_bad_input(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    indexing, search = written(tmp_path)
    assert main(["scale", "--indexing", str(indexing), "--search", str(search), *options]) == 2
    assert message in capsys.readouterr().err


def test_one_size_tells_nothing_of_growth() -> None:
    with pytest.raises(MateError, match="has builds of one size only"):
        series([made_build(1_000_000), {**made_build(5), "label": "other"}], "builds", "--indexing")
