"""Make one release: check the private table, try the configuration on made-up rows, and run rounds until one is accepted.
`publish` charges the budget before the private table is read.
"""
