"""Load the configuration and the acceptance file as one frozen `ReleaseSpec`: columns, configurations, criteria, plan,
shortlist.
"""
