"""Tests mirror the folders of the package: what tests `synthrelease/ledger` is in `tests/privacy`.

Tests of the package as a whole (its layout, documents, contracts, `publish`, randomness) are files in this folder. Beside them:

- `whole`: releases in processes of their own, what leaves them and what is left after kills; and `crashes.py`, `kills.py` and
  `hostile`, which are also run by hand (`make kills`, `make hostile`);
- `mutations`: mistakes in the code that the tests must notice, by `rules.py` and in `of_*.py`; run with `of_theory.py`
  (`make mutations`);
- `helpers`: what several folders use: small worlds and tables, a tiny release, simulated people and surveys, published folders;
- `templates`: what `make new` writes for a criterion, generator or option (`new.py`); `kind.py` checks one (`make criterion`);
- `benchmarks`: times, memory and acceptance, run by hand (`make benchmarks`); not tests.
"""
