"""The warm worker: a process that holds Spark's JVM between the commands of a project, and lends it to them."""
