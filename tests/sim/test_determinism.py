import os
import subprocess
import sys

import pytest


def digest(seed: int, hash_seed: str) -> str:
    command = [sys.executable, "-m", "ottla", "sim", "--seed", str(seed)]
    ran = subprocess.run(
        command,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("seed", [2, 8, 30])
def test_a_seed_is_the_same_run_in_two_processes_with_different_hash_seeds(seed: int) -> None:
    last = digest(seed, "1")

    assert last.startswith(f"seed {seed} hash ")
    assert last == digest(seed, "2")
