"""What is used beside programs: the command line, timings, profiles, reports."""
