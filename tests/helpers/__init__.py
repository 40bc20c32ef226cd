"""What tests share: toys, references written apart from the library, made-up results, a browser, SLURM."""
