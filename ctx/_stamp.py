"""Commands of setuptools, used only to build.

They write the commit of the checkout into the package and copy the hooks into it. setup.cfg
names them. setuptools loads this file by its path with the project as the current directory, so it imports
nothing of `ctx`.
"""

from __future__ import annotations

import os
import runpy

from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

VERSION_FILE = os.path.join("ctx", "_version.py")
HOOKS = "hooks"


def write_stamped(target: str) -> None:
    """Write the version file to `target`, with the commit in the place of the placeholder if it is known."""
    version = runpy.run_path(VERSION_FILE)
    with open(VERSION_FILE, encoding="utf-8") as source:
        text = source.read()
    commit = version["checkout_commit"](os.getcwd())
    if commit:
        text = text.replace(version["COMMIT"], commit)
    if os.path.lexists(target):
        os.unlink(target)  # a source distribution may be made of hard links
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)


class BuildPy(build_py):
    """Copies the package and stamps the copy; an editable install has no copy and asks git when run."""

    def finalize_options(self) -> None:
        """Take the directory of hooks for a part of the package that holds data only."""
        if f"ctx.{HOOKS}" not in self.distribution.packages:
            self.distribution.packages.append(f"ctx.{HOOKS}")
            self.distribution.package_dir = {**(self.distribution.package_dir or {}), f"ctx.{HOOKS}": HOOKS}
            self.distribution.package_data[f"ctx.{HOOKS}"] = sorted(os.listdir(HOOKS))
        super().finalize_options()

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            write_stamped(os.path.join(self.build_lib, VERSION_FILE))


class SDist(sdist):
    """Stamps the source distribution, which leaves git behind."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        write_stamped(os.path.join(base_dir, VERSION_FILE))
