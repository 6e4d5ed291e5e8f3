"""The budget of a private dataset across runs: the account on disk, its entries as values, and how files survive crashes."""
