"""The desk: a local web page on which a steward edits the configuration and the acceptance file of a release.

Other modules compute what the page shows. The two files are its only lasting state. The desk opens no private file, so `check`
and `release` are commands only.
"""
