"""Where cuts are kept while training: as rows, as parts or products that rows are made of, or by a kernel."""
