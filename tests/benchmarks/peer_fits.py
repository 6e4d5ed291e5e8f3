"""One fit of another program, for `comparison.py`: run by a Python of its own, as each needs other libraries than ours.

    PYTHON tests/benchmarks/peer_fits.py NAME IN.npz OUT.npz RHO DEGREE ROUNDS MEGABYTES

NAME is `dpmm` (its AIM) or `dpsynth` (its SWIFT, as its package runs it, with all codes stated). IN.npz has `rows` (n_rows,
n_columns) and `sizes`; OUT.npz gets the synthetic `rows`. RHO is for adding or removing a record. DEGREE, ROUNDS and MEGABYTES
are settings of AIM; ROUNDS 0 is dpmm's default, 16 for each column.
Prints the version, the processor seconds of the fit with its rows, and the peak memory as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from importlib.metadata import version

import numpy as np


def dpmm(rows: np.ndarray, sizes: list[int], rho: float, degree: int, rounds: int, megabytes: float) -> np.ndarray:
    """Return rows of dpmm's AIM."""
    import pandas as pd
    from dpmm.models.aim import AIM

    names = [f"c{place:02d}" for place in range(rows.shape[1])]
    mechanism = AIM(
        epsilon=1.0,
        delta=1e-9,
        prng=np.random.RandomState(),
        rounds=rounds or None,
        max_model_size=megabytes,
        degree=degree,
        max_cells=10**6,
        domain=dict(zip(names, sizes, strict=True)),
        n_jobs=1,
    )
    mechanism.rho = rho
    mechanism.fit(pd.DataFrame(rows, columns=names))
    return mechanism.generate(n_records=len(rows))[names].to_numpy()


def dpsynth(rows: np.ndarray, sizes: list[int], rho: float) -> np.ndarray:
    """Return rows of SWIFT with its defaults: a tenth of the rho for single columns, whose rare values are joined."""
    import jax
    import mbi
    from dpsynth.discrete_mechanisms.discrete import DiscreteConfig
    from dpsynth.discrete_mechanisms.swift import SWIFTConfig

    jax.config.update("jax_enable_x64", True)
    names = [f"c{place:02d}" for place in range(rows.shape[1])]
    domain = mbi.Domain(names, sizes)
    data = mbi.Dataset(dict(zip(names, rows.T, strict=True)), domain)
    mechanism = DiscreteConfig(mechanism=SWIFTConfig(), compress_columns=True).configure(zcdp_rho=rho)
    made = mechanism(np.random.default_rng(), data).synthetic_data.to_dict()
    return np.column_stack([np.asarray(made[name]) for name in names])


def main() -> None:
    name, source, target, rho, degree, rounds, megabytes = sys.argv[1:]
    given, start = np.load(source), time.process_time()
    sizes = given["sizes"].tolist()
    if name == "dpmm":
        made = dpmm(given["rows"], sizes, float(rho), int(degree), int(rounds), float(megabytes))
    else:
        made = dpsynth(given["rows"], sizes, float(rho))
    seconds = time.process_time() - start
    np.savez_compressed(target, rows=made)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"version": version(name), "seconds": seconds, "megabytes": peak}))


if __name__ == "__main__":
    main()
