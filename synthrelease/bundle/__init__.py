"""What leaves the enclave: the released table and the document that describes it."""

from synthrelease.bundle.archive import check_archive, write_archive
from synthrelease.bundle.folder import check_free, write_bundle, write_folder

__all__ = ["check_archive", "check_free", "write_archive", "write_bundle", "write_folder"]
