"""A folder is removed whatever a candidate has made of it."""

import os
import threading
from pathlib import Path

from cudanalyst.tools.toolchain.removal import REMOVAL, remove_aside, remove_tree

DEEP = 1200


def nest(folder: Path, name: str, depth: int) -> None:
    """Folders in folders, deeper than a path can name."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=descriptor)
        inner = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


def test_depth_beyond_recursion_and_path_length_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    nest(folder, "deep", DEEP)
    remove_tree(folder)
    assert not folder.exists()


def test_folders_without_permissions_pipes_and_dead_links_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed" / "file").write_text("x")
    os.mkfifo(folder / "pipe")
    (folder / "dead").symlink_to("nowhere")
    for closed in (folder / "closed" / "inner", folder / "closed", folder):
        closed.chmod(0)
    remove_tree(folder)
    assert not folder.exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o755)
    (kept / "file").write_text("x")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "link").symlink_to(kept)
    remove_tree(folder)
    assert not folder.exists()
    assert (kept / "file").read_text() == "x"
    assert kept.stat().st_mode & 0o777 == 0o755


def test_a_link_in_the_place_of_the_folder_leads_nowhere(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    (tmp_path / "run").symlink_to(kept)
    remove_tree(tmp_path / "run")
    assert (kept / "file").exists()


def test_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    remove_tree(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


def test_much_is_removed_by_a_thread_and_little_at_once(tmp_path: Path) -> None:
    for name, count in (("little", 5), ("much", 200)):
        (tmp_path / name).mkdir()
        for number in range(count):
            (tmp_path / name / str(number)).touch()
    remove_aside(tmp_path / "little")
    assert not (tmp_path / "little").exists()
    remove_aside(tmp_path / "much")
    for thread in threading.enumerate():
        if thread.name == f"{REMOVAL} much":
            thread.join()
    assert not (tmp_path / "much").exists()
