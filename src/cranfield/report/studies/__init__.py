"""Results of studies as text: for people (table), for papers (markdown, latex), for programs (json)."""
