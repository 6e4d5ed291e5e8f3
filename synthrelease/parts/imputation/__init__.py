"""Complete copies of the released rows, made after acceptance and at no cost; its settings follow below.
Example: `imputation.copies = 5`."""
