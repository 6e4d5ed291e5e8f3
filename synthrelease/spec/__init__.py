"""Load the configuration and the acceptance file, and combine them into an immutable `ReleaseSpec`."""
