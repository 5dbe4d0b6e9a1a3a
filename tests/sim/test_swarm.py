"""Seeds of the quick form, as many as a change can wait for. `make sim` shows more of them.

Covers: ottla.sim.audit, ottla.sim.churn, ottla.sim.client, ottla.sim.cluster, ottla.sim.rot
Covers: ottla.sim.tap, ottla.sim.workload
"""

import os

from ottla.sim.campaign import run_seeds

SEEDS = int(os.environ.get("OTTLA_SIM_SEEDS", "200"))


def test_no_seed_loses_doubles_reorders_damages_or_hangs() -> None:
    failed = {
        f"ottla sim --seed {verdict.seed}": verdict.findings()
        for verdict in run_seeds(range(1, SEEDS + 1))
        if verdict.exit_code
    }

    assert failed == {}
