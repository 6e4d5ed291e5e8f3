"""Answer questions about a release from its released files. Answers are estimates with intervals, and bounds."""
