"""The version of the code that runs; what is installed may name another one, such as that of an older checkout."""

VERSION = "1.1.0.dev0"
