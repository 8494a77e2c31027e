"""Work that is shared out to threads: all of it is done, in any depth, and an error stops the rest."""

import os
import threading
from itertools import pairwise

import pytest

from mate.values.parallel import at_once, in_parts


def test_returns_what_a_task_makes_of_items_in_their_order() -> None:
    assert at_once(lambda one, other: one - other, range(100), range(100, 0, -1)) == list(range(-100, 100, 2))
    assert at_once(str, []) == []


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor has no helper")
def test_items_are_done_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=30)
    assert sorted(at_once(lambda _: both.wait(), range(2))) == [0, 1]


def test_work_inside_a_part_may_be_shared_out_again() -> None:
    def total(depth: int) -> int:
        return sum(at_once(total, [depth - 1] * 4)) if depth else 1

    assert total(5) == 4**5


def test_no_thread_is_waited_for_that_has_other_things_to_do() -> None:
    """All helpers stand still until the work that was asked for after them is done."""
    done, begun = threading.Event(), threading.Semaphore(0)

    def wait(_: int) -> None:
        begun.release()
        done.wait(30)

    others = [threading.Thread(target=at_once, args=(wait, range(8))) for _ in range(8)]
    for other in others:
        other.start()
    for _ in others:
        assert begun.acquire(timeout=30)
    assert at_once(lambda n: n * n, range(10)) == [n * n for n in range(10)]
    done.set()
    for other in others:
        other.join(30)


def test_an_error_is_raised_and_nothing_more_is_begun() -> None:
    begun = []

    def fail(number: int) -> None:
        begun.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match=r"^\d+$"):
        at_once(fail, range(1_000))
    assert len(begun) <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    at_once(str, range(10))
    child = os.fork()
    if not child:
        os._exit(at_once(int, ["1", "2", "3"]) != [1, 2, 3])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("count", [0, 1, 49_999, 100_000, 1_000_003])
def test_parts_make_up_the_whole(count: int) -> None:
    seen: list[tuple[int, int]] = []
    in_parts(lambda start, stop: seen.append((start, stop)), count)
    seen.sort()
    assert seen[0][0] == 0
    assert seen[-1][1] == count
    assert all(stop == start for (_, stop), (start, _) in pairwise(seen))
