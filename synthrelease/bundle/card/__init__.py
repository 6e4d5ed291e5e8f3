"""The data card: README.html, README.md and the pages in other languages, from release.json and the released table."""
