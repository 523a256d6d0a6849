"""From a source to its landing zone: connectors, logical runs and their manifests."""
