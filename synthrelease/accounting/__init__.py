"""What privacy costs: charges and their composition, Renyi curves, selection, neighbours, the number of rows, the plan of a
release and what it guarantees.
"""
