"""`python -m synthrelease` is the command line."""

from synthrelease.cli import main

main()
