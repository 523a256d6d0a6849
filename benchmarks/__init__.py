"""What Tidegate costs on top of Spark, measured: `make bench`."""
