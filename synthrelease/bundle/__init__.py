"""What leaves the enclave: the released table and the document that describes it."""

from synthrelease.bundle.archive import check_archive, write_archive
from synthrelease.bundle.folder import new_folder, write_bundle, write_folder
from synthrelease.bundle.taking import check_free, keep_space, taking

__all__ = ["check_archive", "check_free", "keep_space", "new_folder", "taking", "write_archive", "write_bundle", "write_folder"]
