"""What MATE is compared with: the hash functions and the systems of the paper's section 7.1."""
