"""Make one release: check that the private table can be read, try the configuration on made-up rows, read the private
table, and run rounds until one is accepted. `publish` charges the budget in between.
"""
