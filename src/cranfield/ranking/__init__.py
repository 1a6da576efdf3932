"""Rankings as measures see them: the order of documents, ties, and unjudged documents."""
