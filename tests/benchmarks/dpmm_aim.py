"""AIM of the package dpmm, for `comparison.py`: run by a Python of its own, as its libraries are older than ours.

    PYTHON tests/benchmarks/dpmm_aim.py IN.npz OUT.npz RHO DEGREE ROUNDS MEGABYTES

IN.npz has `rows` (n_rows, n_columns) and `sizes`; OUT.npz gets the synthetic `rows`. RHO is for adding or removing a record.
Prints the processor seconds of the fit and the peak memory as JSON. ROUNDS 0 is dpmm's default, 16 for each column.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
import pandas as pd
from dpmm.models.aim import AIM


def main() -> None:
    source, target, rho, degree, rounds, megabytes = sys.argv[1:]
    given = np.load(source)
    names = [f"c{place:02d}" for place in range(given["rows"].shape[1])]
    frame = pd.DataFrame(given["rows"], columns=names)
    mechanism = AIM(
        epsilon=1.0,
        delta=1e-9,
        prng=np.random.RandomState(),
        rounds=int(rounds) or None,
        max_model_size=float(megabytes),
        degree=int(degree),
        max_cells=10**6,
        domain=dict(zip(names, given["sizes"].tolist(), strict=True)),
        n_jobs=1,
    )
    mechanism.rho = float(rho)
    start = time.process_time()
    mechanism.fit(frame)
    rows = mechanism.generate(n_records=len(frame))
    seconds = time.process_time() - start
    np.savez_compressed(target, rows=rows[names].to_numpy())
    print(json.dumps({"seconds": seconds, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
