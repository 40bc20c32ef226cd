"""What a result depends on: keys of jobs, sources of code, versions and the machine."""
