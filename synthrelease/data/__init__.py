"""What tables can be: bins and rules as small grammars, the schema with its layouts, counts of cells, plausibility as masks.
All public.
"""
