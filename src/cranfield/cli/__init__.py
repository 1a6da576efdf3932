"""The command line: one file for each verb, which parses, calls one library function, hands on the result."""
