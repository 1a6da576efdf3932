"""The command line: one file for each verb, which parses, calls one function of the library, and hands on the result."""
