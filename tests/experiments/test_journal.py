"""The journal: what was measured survives, a line that was cut off does not count."""

from pathlib import Path

from experiments.journal import Journal


def test_it_remembers_and_forgets(tmp_path: Path) -> None:
    path = tmp_path / "a/.x.journal"
    journal = Journal(path)
    assert journal.get("d", "q\n") is None
    journal.add("q\n", {"d": [{"seconds": 1.0}], "e": []})
    again = Journal(path)
    assert again.get("d", "q\n") == [{"seconds": 1.0}]
    assert again.get("e", "q\n") == []
    again.remove()
    assert not path.exists()
    assert Journal(path).get("d", "q\n") is None


def test_a_line_that_was_cut_off_is_dropped_and_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x"
    Journal(path).add("one", {"d": [{"seconds": 1.0}]})
    whole = path.read_bytes()
    Journal(path).add("two", {"d": [{"seconds": 2.0}]})
    for end in range(len(whole), path.stat().st_size - 1):
        path.write_bytes(
            path.read_bytes()[: len(whole)]
            + b'{"query": "two", "records": {"d": [{"seconds": 2.0}]}}'[: end - len(whole)]
        )
        journal = Journal(path)
        assert journal.get("d", "one") == [{"seconds": 1.0}]
        assert journal.get("d", "two") is None
        assert path.read_bytes() == whole
    journal.add("three", {"d": []})
    assert Journal(path).get("d", "three") == []
