"""Raw files as pieces of records, whose values are the text that was delivered. Nothing here needs a JVM."""
