"""Read the configuration and the acceptance file of a release, and validate them with pydantic models. All mistakes are
reported together."""
