"""Native modules: every `_*.pyx` of the packages, compiled ahead of time. All else is in setup.cfg.

MATE_BUILD=checked compares every index with the length of its array; MATE_BUILD=sanitize adds AddressSanitizer and
UndefinedBehaviorSanitizer. Where there is no C++ compiler, the one of the PyPI package `ziglang` serves.
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
BUILDS = {
    "release": ["-O3", "-g0", "-DNDEBUG"],
    "checked": ["-Werror", "-O1", "-g", "-DMATE_CHECKED", "-D_GLIBCXX_ASSERTIONS"],
    "sanitize": [
        *("-O1", "-g", "-DMATE_CHECKED", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
        "-fno-sanitize=nonnull-attribute",  # no byte of an empty array is compared or copied
    ],
}
BUILD = os.environ.get("MATE_BUILD", "release")
# Warnings are errors where we develop (a checked build), not on a user's machine, whose compiler may know new ones.
FLAGS = ["-std=c++17", "-fno-strict-aliasing", "-Wall", "-Wno-unused-function", "-Wno-unused-variable"]
STRIP = ["-s"] if sys.platform == "linux" else []
HAS_COMPILER = bool(os.environ.get("CXX") or any(map(shutil.which, ("c++", "g++", "clang++"))))
BASELINE = {"x86_64": ["-march=x86-64-v2" if HAS_COMPILER else "-mcpu=x86_64_v2"]}


class BuildLibrary(build_py):
    """Leaves experiments and benchmarks out of wheels: they run from a checkout."""

    def finalize_options(self):
        """Choose the packages."""
        super().finalize_options()
        self.packages = [name for name in self.packages if name.partition(".")[0] in ("mate", "baselines")]


class BuildNative(build_ext):
    """Compiles with the compiler of this machine or, where there is none, with that of `ziglang`."""

    def finalize_options(self):
        """Compile several modules at the same time."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self):
        """Choose the compiler, and compile."""
        if not HAS_COMPILER:
            if subprocess.run(
                [sys.executable, "-m", "ziglang", "version"], capture_output=True, check=False
            ).returncode:
                raise SystemExit(
                    "MATE needs a C++ compiler to be built: install one (Debian, Ubuntu: apt-get install g++; macOS: "
                    "xcode-select --install), or `pip install ziglang`, or install a wheel"
                )
            # One word: where C++ is linked, setuptools replaces the first word of the command.
            program = Path(self.build_temp, "zig-c++").absolute()
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang c++ "$@"\n')
            program.chmod(0o755)
            compiler = shlex.quote(str(program))
            self.compiler.set_executables(
                compiler=compiler,
                compiler_so=f"{compiler} -fPIC",
                compiler_cxx=compiler,
                compiler_so_cxx=f"{compiler} -fPIC",
                linker_so=f"{compiler} -shared",
                linker_so_cxx=f"{compiler} -shared",
            )
        super().build_extensions()


def native_modules():
    """Yield one extension per native module."""
    flags = [*FLAGS, *BUILDS[BUILD], *BASELINE.get(platform.machine(), [])]
    links = {"sanitize": ["-fsanitize=address,undefined"], "release": STRIP}.get(BUILD, [])
    for package in ("mate", "baselines"):
        for source in sorted((ROOT / package).rglob("_*.pyx")):
            path = source.relative_to(ROOT)
            yield Extension(
                ".".join(path.with_suffix("").parts),
                [str(path)],
                include_dirs=["mate/native"],
                depends=["mate/native/native.h", "mate/native/__init__.pxd"],
                extra_compile_args=flags,
                extra_link_args=links,
                language="c++",
            )


setup(
    ext_modules=cythonize(
        list(native_modules()),
        build_dir="build/cython",
        nthreads=os.cpu_count() or 1,
        compiler_directives={
            "language_level": 3,
            "boundscheck": BUILD != "release",
            "wraparound": False,
            "initializedcheck": False,
            "cdivision": True,
            "embedsignature": True,
        },
    ),
    cmdclass={"build_py": BuildLibrary, "build_ext": BuildNative},
    setup_requires=[] if HAS_COMPILER else ["ziglang>=0.13,<0.17"],
)
