"""Provide the desk: a local web page on which a steward edits the configuration and the acceptance file of a release.

Other modules compute what the page shows. The desk stores its state only in these two files. It opens no private file.
Therefore `check` and `release` exist only as commands.
"""
