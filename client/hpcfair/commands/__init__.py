"""What ``hpcfair`` does on the command line, a module a topic."""
