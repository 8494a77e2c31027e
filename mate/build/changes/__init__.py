"""Changes to an index (section 5.4): tables are written again into new segments, and published all at once."""
