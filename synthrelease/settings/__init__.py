"""The two files of a release as they stand on disk: reading, one that extends another, validated tables, the card's texts,
mistakes as values.
"""
