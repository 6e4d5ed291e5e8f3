"""Answer questions about a release from its released files, by estimates with intervals and by bounds."""
