"""What goes on behind a hook: one quiet process at a time that covers what is checked out."""
