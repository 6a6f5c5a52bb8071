"""Background runs started by hooks: one silent process at a time that indexes the checked-out trees."""
