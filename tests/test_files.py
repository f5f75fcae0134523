"""A file is replaced whole; a device, a pipe and what a link leads to are written to."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tclab.cli import output_file
from tclab.errors import ExplainError
from tclab.system import files

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(output_file.__file__).resolve().parents[2])}
NEW = "new content " * 1000
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root makes devices and file systems")


def put(path: Path, content: str = NEW) -> None:
    output_file.replace_file(path, content)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_new_file_has_the_mode_of_any_other(tmp_path):
    put(tmp_path / "new.html")
    (tmp_path / "other").touch()
    assert (tmp_path / "new.html").read_text() == NEW
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "old.html"
    path.write_text("old")
    path.chmod(0o640)
    before = path.stat().st_ino
    put(path)
    assert path.read_text() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_ino != before  # another file in its place, not this one written over


def device(folder: Path) -> Path:
    """Return a null device of our own."""
    path = folder / "null"
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    return path


@as_root
def test_a_device_stays_one(tmp_path):
    path = device(tmp_path)
    put(path)
    assert stat.S_ISCHR(path.lstat().st_mode)
    assert names(tmp_path) == {"null"}


@as_root
def test_a_link_to_a_device_stays_one(tmp_path):
    path = tmp_path / "link"
    path.symlink_to(device(tmp_path))
    put(path)
    assert path.is_symlink() and stat.S_ISCHR(path.stat().st_mode)


def test_who_reads_a_pipe_gets_it(tmp_path):
    path, read = tmp_path / "pipe", list[str]()
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_text()), daemon=True)
    reader.start()
    put(path)
    reader.join(20)
    assert read == [NEW]
    assert stat.S_ISFIFO(path.lstat().st_mode)


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there/real.html", tmp_path / "link.html"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    put(link)
    assert link.is_symlink() and target.read_text() == NEW
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert names(tmp_path) == {"there", "link.html"} and names(target.parent) == {"real.html"}


def test_a_link_to_nothing_makes_the_file_it_names(tmp_path):
    link = tmp_path / "link.html"
    link.symlink_to("later.html")
    put(link)
    assert link.is_symlink() and (tmp_path / "later.html").read_text() == NEW


def test_a_link_in_a_circle_is_refused_and_stays(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.symlink_to(b)
    b.symlink_to(a)
    with pytest.raises(ExplainError, match="Too many levels of symbolic links"):
        put(a)
    assert a.is_symlink() and names(tmp_path) == {"a", "b"}


@pytest.mark.parametrize("link", [False, True])
def test_a_folder_is_refused(tmp_path, link):
    folder = tmp_path / "folder"
    folder.mkdir()
    if link:
        (tmp_path / "link").symlink_to(folder)
    with pytest.raises(ExplainError, match="Is a directory"):
        put(tmp_path / "link" if link else folder)
    assert names(folder) == set() and names(tmp_path) == {"folder", *(["link"] if link else [])}


def test_what_stdout_is_redirected_to_gets_it_too(tmp_path):
    """The file behind /dev/stdout is open: another in its place would lose what is printed."""
    code = "from pathlib import Path; from tclab.system import files; print('first'); "
    code += "files.replace(Path('/dev/stdout'), 'second\\n'); print('third')"
    with (tmp_path / "out.txt").open("w") as out:
        subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, stdout=out, check=True)
    assert (tmp_path / "out.txt").read_text() == "first\nsecond\nthird\n"
    assert names(tmp_path) == {"out.txt"}


def test_the_old_file_stays_where_the_disk_is_full(tmp_path):
    path = tmp_path / "old.html"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(ExplainError, match="File too large"):
            put(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "old" and names(tmp_path) == {"old.html"}


@as_root
def test_a_full_device_is_an_error(tmp_path):
    full = tmp_path / "full"
    os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    with pytest.raises(ExplainError, match="No space left on device"):
        put(full)
    assert stat.S_ISCHR(full.lstat().st_mode)


@as_root
def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with pytest.raises(ExplainError, match="Read-only file system"):
            put(folder / "x.html")
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    ("error", "is_full"),
    [
        (OSError(28, "No space left on device"), True),
        (RuntimeError("fatal error: error writing to /tmp/ccQ8.s: No space left on device"), True),
        (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), True),
        (FileNotFoundError(2, "No such file or directory"), False),
    ],
)
def test_a_full_disk_is_told_from_other_errors(error, is_full):
    assert files.is_disk_full_error(error) == is_full
