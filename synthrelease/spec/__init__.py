"""Load the configuration and the acceptance file as one immutable `ReleaseSpec`: columns, configurations, criteria, plan,
shortlist.
"""
