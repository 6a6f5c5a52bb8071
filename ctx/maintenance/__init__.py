"""Keeping the store small and sound: what may go (gc), what is damaged (fsck), what must stay (pins)."""
