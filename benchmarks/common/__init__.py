"""What the races share: data sets, peers in processes of their own, ratios of times, tables."""
