"""Measure the cost of sharing an index: bytes, time, and concurrent pushes.

    python tests/benchmarks/share.py CHECKOUT [--writers 8] [--pushes 10]

Clones the checkout, pushes the index of the commit before its HEAD to a bare repository beside it, then that
of HEAD, then the words, and fetches in fresh clones before and after the words. Sizes are those of the
transferred packs. Finally `--writers` clones push `--pushes` commits each to one remote at the same time, and
the snapshots there are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

REF = "refs/notes/ctx"


class Cost(NamedTuple):
    """Wall-clock and processor seconds."""

    wall: float
    cpu: float


def git(place: Path, *words: str, stdin: bytes | None = None) -> str:
    """The output of git."""
    done = subprocess.run(["git", *words], cwd=place, input=stdin, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").strip()


def ctx(place: Path, *words: str) -> tuple[Any, Cost]:
    """The last JSON object that the program prints, and the time it took."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "ctx", *words, "--json-output"], cwd=place, capture_output=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.splitlines()[-1]), Cost(time.monotonic() - start, cpu)


def packed(place: Path, *revisions: str) -> int:
    """Bytes of the pack with these revisions, as `git push` would send it."""
    names = "\n".join(revisions).encode() + b"\n"
    done = subprocess.run(
        ["git", "pack-objects", "--revs", "--stdout", "--quiet", "--thin"],
        cwd=place,
        input=names,
        capture_output=True,
        check=True,
    )
    return len(done.stdout)


def fast_import(place: Path, remote: Path) -> tuple[int, Cost]:
    """Run a bare `git fast-import` of the same blobs; return bytes of its pack and the time it took."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(place)], check=True)
    names = [line.split(maxsplit=3)[2:] for line in git(remote, "ls-tree", "-r", REF).splitlines()]
    stream = bytearray(b"commit refs/heads/x\ncommitter x <x> 0 +0000\ndata 0\n")
    reader = ["git", "cat-file", "--batch"]
    asked = "".join(f"{oid}\n" for oid, _ in names).encode()
    contents = subprocess.run(reader, cwd=remote, input=asked, capture_output=True, check=True).stdout
    at = 0
    for _, path in names:
        head, _, _ = contents[at : at + 100].partition(b"\n")
        start = at + len(head) + 1
        size = int(head.split()[2])
        at = start + size + 1
        stream += b"M 100644 inline %s\ndata %d\n" % (path.encode(), size) + contents[start:at]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    # Without the limit, git stores fewer than a hundred objects as loose files.
    command = ["git", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"]
    subprocess.run(command, cwd=place, input=bytes(stream), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = sum(file.stat().st_size for file in (place / "objects/pack").glob("*.pack"))
    return size, Cost(time.monotonic() - started, cpu)


def one_project(checkout: Path, work: Path) -> None:
    """Bytes and seconds of sharing one project."""
    remote = work / "remote.git"
    head = git(checkout, "rev-parse", "HEAD")
    # Two commits are enough; the whole history of a large project takes long to copy.
    words = ["clone", "--quiet", "--bare", "--depth=2", f"file://{checkout}", str(remote)]
    subprocess.run(["git", "-c", "advice.detachedHead=false", *words], check=True)
    git(remote, "config", "uploadpack.allowFilter", "true")
    git(remote, "update-ref", "refs/heads/main", head)
    git(remote, "update-ref", "refs/heads/before", f"{head}~1")
    git(remote, "symbolic-ref", "HEAD", "refs/heads/main")
    first = work / "first"
    subprocess.run(["git", "clone", "--quiet", "--branch", "before", str(remote), str(first)], check=True)
    _, indexing = ctx(first, "index")
    status, _ = ctx(first, "status")
    (snapshot,) = status["snapshots"]
    source = snapshot["filesSizeKb"] * 1024
    report, pushing = ctx(first, "push")
    once = packed(remote, REF)
    print(f"{snapshot['chunks']:,} chunks, {source / 1e6:.1f} MB of sources; indexing {indexing.cpu:.1f} s")
    print(
        f"first push: {once / 1e3:,.0f} kB packed, {100 * once / source:.2f}% of the sources "
        f"({report['bytes'] / 1e3:,.0f} kB before); {pushing.wall:.1f} s, processors {pushing.cpu:.1f} s"
    )
    size, bare = fast_import(work / "bare.git", remote)
    print(f"a bare fast-import of the same: {size / 1e3:,.0f} kB; ratio {once / size:.2f}; {bare.cpu:.1f} s")
    tip = git(remote, "rev-parse", REF)
    git(first, "checkout", "--quiet", "origin/main")
    _, more = ctx(first, "push")
    print(f"one commit more: {packed(remote, REF, f'^{tip}') / 1e3:,.1f} kB; {more.wall:.1f} s")
    tip = git(remote, "rev-parse", REF)
    for name, is_fetched in (("with", True), ("without", False), ("with the words of", True)):
        if name == "with the words of":
            report, pushing = ctx(first, "push", "--with-words")
            print(
                f"words: {packed(remote, REF, f'^{tip}') / 1e3:,.0f} kB packed "
                f"({report['bytes'] / 1e3:,.0f} kB before); {pushing.wall:.1f} s, "
                f"processors {pushing.cpu:.1f} s"
            )
        place, start = work / name.replace(" ", "-"), time.monotonic()
        subprocess.run(["git", "clone", "--quiet", "--branch", "main", str(remote), str(place)], check=True)
        cloned = time.monotonic() - start
        costs = [ctx(place, "fetch")[1]] if is_fetched else []
        costs.append(ctx(place, "search", "where is the configuration read", "-n", "3")[1])
        print(
            f"from clone to first answer {name} the shared index: clone {cloned:.1f} s, then "
            f"{sum(cost.wall for cost in costs):.1f} s, processors {sum(cost.cpu for cost in costs):.1f} s"
        )


def many(work: Path, writers: int, pushes: int) -> None:
    """Push from many clones at the same time, and count the snapshots."""
    remote, seed = work / "busy.git", work / "busy"
    subprocess.run(["git", "init", "--quiet", str(seed)], check=True)
    for number in range(40):
        (seed / f"f{number}.py").write_text(f"def f{number}(user):\n    return user.session({number})\n")
    git(seed, "add", "--all")
    git(seed, "-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "-m", "start")
    subprocess.run(["git", "clone", "--quiet", "--bare", str(seed), str(remote)], check=True)
    script = (
        "import subprocess,sys,os\n"
        "place,name,pushes=sys.argv[1],sys.argv[2],int(sys.argv[3])\n"
        "for i in range(pushes):\n"
        "    open(os.path.join(place,name+'.py'),'a').write(f'def {name}_{i}(user):\\n    return {i}\\n')\n"
        "    run=lambda *w: subprocess.run(w,cwd=place,check=True,capture_output=True)\n"
        "    run('git','add','--all')\n"
        "    run('git','-c','user.name=x','-c','user.email=x','commit','--quiet','-m',str(i))\n"
        "    run(sys.executable,'-m','ctx','push')\n"
    )
    running = []
    start = time.monotonic()
    for number in range(writers):
        place = work / f"writer{number}"
        subprocess.run(["git", "clone", "--quiet", str(remote), str(place)], check=True)
        words = [sys.executable, "-c", script, str(place), f"w{number}", str(pushes)]
        running.append(subprocess.Popen(words))
    failed = sum(process.wait() != 0 for process in running)
    found = git(remote, "ls-tree", "-r", "--name-only", REF).splitlines()
    snapshots = sum("/trees/" in path for path in found)
    print(
        f"{writers} writers pushing {pushes} times each: {snapshots} of {writers * pushes} snapshots there, "
        f"{failed} writers met an error; {time.monotonic() - start:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, nargs="*")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--pushes", type=int, default=10)
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    for checkout in options.checkout:
        with tempfile.TemporaryDirectory() as work:
            print(f"== {checkout.name}")
            one_project(checkout.resolve(), Path(work))
    if options.writers:
        with tempfile.TemporaryDirectory() as work:
            many(Path(work), options.writers, options.pushes)


if __name__ == "__main__":
    main()
