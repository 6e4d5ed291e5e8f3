"""Read private files, count their rows by cell, and guard these counts: only `spend` (module `door`) gives access to them."""
