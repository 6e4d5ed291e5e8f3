"""Read the configuration and the acceptance file of a release, and validate them as pydantic models; report all mistakes at
once.
"""
