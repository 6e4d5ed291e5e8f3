"""`python -m synthrelease` is the command line."""

import gc

gc.set_threshold(300_000, 20, 20)  # modules stay in use, and garbage collection while they load takes a tenth of the start

from synthrelease.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
