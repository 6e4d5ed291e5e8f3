"""Groups of marks, yes or no, such as rare diagnoses: of each group a column with the number of marks in the row; its settings
follow below. Example: `marks.groups.heart = ["infarct", "failure", "stroke"]`."""
