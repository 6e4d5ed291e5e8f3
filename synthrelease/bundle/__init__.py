"""What leaves the enclave: the released table and the document that describes it."""

from synthrelease.bundle.write import (
    check_archive,
    check_free,
    keep_space,
    new_folder,
    taking,
    write_archive,
    write_bundle,
    write_folder,
)

__all__ = ["check_archive", "check_free", "keep_space", "new_folder", "taking", "write_archive", "write_bundle", "write_folder"]
