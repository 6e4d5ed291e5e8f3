"""Answer questions about a release from its released files: estimates with intervals, and bounds."""
