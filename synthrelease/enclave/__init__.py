"""Read private files into counts, and guard these counts: only `spend` (in `door`) opens them."""
