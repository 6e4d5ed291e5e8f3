"""The desk: a local web page on which a steward edits the configuration and the acceptance file of a release.

Other modules compute what the page shows. These two files are the only lasting state of the desk. The desk opens no private
file, so `check` and `release` are commands only.
"""
