"""Read and validate the configuration and the acceptance file of a release, with pydantic models. All mistakes are reported
together."""
