"""Read private files into counts, and guard these counts. Only `spend` (in `door`) gives access to the private rows."""
