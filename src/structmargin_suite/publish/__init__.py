"""What people read: tables, pages, documents, the snapshot, comparisons."""
