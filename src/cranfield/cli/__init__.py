"""The command line: one module for each command, which parses arguments, calls the library and writes the result."""
