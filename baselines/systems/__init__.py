"""The systems that MATE is compared with (section 7.1.1), over the same store and the same primitives."""
