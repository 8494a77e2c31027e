"""The documentation's code runs."""

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_example_of_an_added_hash_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "hashes.md").read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[[")
