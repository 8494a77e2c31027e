"""The paper's corpora: what they are, where they come from, and how to download them."""
