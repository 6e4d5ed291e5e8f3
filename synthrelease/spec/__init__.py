"""The two files as one frozen specification: columns, the space of configurations, criteria with their setting, the plan; a
shortlist.
"""
