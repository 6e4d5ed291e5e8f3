"""Checking a published bundle. Needs no private data, and nothing that the public does not have."""

from synthrelease.published.verify.checks import Check, Report
from synthrelease.verification.verify import verify_bundle

__all__ = ["Check", "Report", "verify_bundle"]
