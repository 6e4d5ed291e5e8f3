"""Read the configuration and the acceptance file of a release, validate them as pydantic models, and report all mistakes at
once."""
