"""The commands of the `mate` program, grouped in modules: `add` declares them, `_run_...` does the work."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
