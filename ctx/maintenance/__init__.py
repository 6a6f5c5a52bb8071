"""Maintenance of the store: garbage collection (gc), verification and repair (fsck), pins."""
