"""What differs between operating systems, and what is asked of this one."""

import resource
import subprocess
import sys

import pytest

from ottla.limits import DESCRIPTORS_KEPT_FOR_CONNECTIONS
from ottla.server import platform


def test_windows_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(platform.Unsupported, match="Windows"):
        platform.check()


def test_this_machine_is_supported() -> None:
    platform.check()


def test_python_without_assertions_is_refused() -> None:
    program = "from ottla.server import platform; platform.check()"
    ended = subprocess.run([sys.executable, "-O", "-c", program], capture_output=True, text=True)
    assert ended.returncode != 0
    assert "start without -O" in ended.stderr


def test_the_soft_limit_of_descriptors_is_raised_to_the_hard_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = [1024, 4096]
    monkeypatch.setattr(resource, "getrlimit", lambda which: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda which, new: limits.__setitem__(0, new[0]))
    assert platform.raise_descriptor_limit() == 4096 - DESCRIPTORS_KEPT_FOR_CONNECTIONS
    assert limits == [4096, 4096]


@pytest.mark.parametrize(("limit", "few"), [(1 << 20, 4096), (1024, 256), (3, 1)])
def test_closed_segments_take_a_quarter_of_the_descriptors_and_never_thousands(
    monkeypatch: pytest.MonkeyPatch, limit: int, few: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    assert platform.descriptors_of_followed_segments() == few


def test_start_up_is_set_aside_and_collection_is_left_to_the_shell() -> None:
    program = (
        "import gc; from ottla.server import platform; platform.tame_garbage_collector(); "
        "assert not gc.isenabled(); assert gc.get_freeze_count() > 1000"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
