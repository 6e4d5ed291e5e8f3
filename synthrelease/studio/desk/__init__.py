"""The desk: one local web page over the configuration and the acceptance file.

It phrases what other rooms compute. The two files are its only state, and it opens no private file: `check` and `release` stay
commands.
"""
