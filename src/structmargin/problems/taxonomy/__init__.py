"""Classes in a taxonomy: output features that classes share, and the tree loss (jmlr05 Sections 4.2, 5.1)."""
