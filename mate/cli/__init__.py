"""The commands of the `mate` program, grouped in modules: `add` declares them, `run...` does the work."""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
