"""Scripts that measure; they are run by hand (`make benchmarks`) and are no tests."""
