"""Load the configuration and the acceptance file, and combine them into an immutable `ReleaseSpec`, which contains the columns,
the configurations of generators, the criteria and the plan."""
