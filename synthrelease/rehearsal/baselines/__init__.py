"""What offices do beside, or did before, a release: methods to compare with, on public data alone."""
