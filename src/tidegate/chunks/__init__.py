"""Large raw files, loaded piece by piece: chunk, process, load."""
