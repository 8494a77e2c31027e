"""A batch on Spark's own cluster of two executors, one of which is killed while it answers: the same answers."""

from __future__ import annotations

import json
import random
from pathlib import Path

import mate
from tests.build.test_cluster import run_driver
from tests.lakes import write_csv

DRIVER = """
import json, sys
from mate.api.batch import QueryBatch, plan_queries
from mate.build.engine import SparkEngine
from mate.build.engine import NoProgress
from mate.build.session import spark_session
from mate.lake.folder import open_folder
from mate.search.batches import BatchSearch
from mate.search.settings import SearchSettings

class Deadly(SparkEngine):
    '''Kills the executor of the first task that gets there; raises in another, once.'''

    def run(self, items, task, progress, phase):
        folder = marks

        def once(item):
            import os, signal
            from pathlib import Path

            for mark in ("killed", "raised"):
                try:
                    (Path(folder) / mark).touch(exist_ok=False)
                except FileExistsError:
                    continue
                if mark == "raised":
                    raise OSError("a disk that fails once")
                daemon = os.getppid()
                java = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
                assert "java" in Path(f"/proc/{java}/cmdline").read_text()
                os.kill(java, signal.SIGKILL)
            return task(item)

        return super().run(items, once, progress, phase)

store, queries, marks = sys.argv[1:]
settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m"}
index = open_folder(store)
with spark_session("local-cluster[2,1,1024]", settings) as spark:
    search = BatchSearch("column-first", SearchSettings(k=5, rank="usefulness"))
    batch = QueryBatch(plan_queries(queries, None), index, search)
    found = batch.run(None, Deadly(spark), NoProgress())
print(json.dumps(found.to_arrow().to_pylist()))
"""


def test_a_killed_executor_changes_nothing(tmp_path: Path) -> None:
    draw = random.Random(3)
    for name in ("one", "two", "queries", "marks"):
        (tmp_path / name).mkdir()
    for folder, prefix in (("one", "s"), ("two", "t"), ("queries", "q")):
        for number in range(8):
            rows = [(f"a{draw.randrange(9)}", f"b{draw.randrange(5)}") for _ in range(25)]
            write_csv(tmp_path / folder / f"{prefix}{number}.csv", ["left", "right"], rows)
    with mate.index(tmp_path / "one", tmp_path / "lake.mate") as lake:
        lake.add(tmp_path / "two")
        expected = lake.search_many(tmp_path / "queries", k=5).to_arrow().to_pylist()
    assert len(expected) == 40
    done = run_driver(tmp_path, [DRIVER, *(str(tmp_path / name) for name in ("lake.mate", "queries", "marks"))])
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "marks").iterdir()} == {"killed", "raised"}
    assert json.loads(done.stdout) == json.loads(json.dumps(expected))
