"""Read private files, count their rows by cell, and guard these counts. Only the method `spend` (module `door`) gives access to
the private counts.
"""
