"""Whole releases of random small specifications, each from two neighbouring files, with the same noisy answers.

The first world draws noise; the second one, whose file differs in one row, is made to get the same noisy answers. What a
release does beyond them is post-processing, so everything else must be the same: what is asked, at which scale, how often,
every candidate, score, verdict and figure. And the answers must be nearly as likely in the second world as in the first: the
losses of all answers that a charge pays for are added up and compared with it. A difference, or a loss above its charge, is a
leak.

The path is that of `release` itself, from the file on. Only where numbers are drawn does a world stand in (`watching`). By
hand: `python -m tests.whole.fuzz [PAIRS] [FIRST SEED]` (`make fuzz RUNS=3000`), which also plants known faults (`faults`) and
must find them.
"""
