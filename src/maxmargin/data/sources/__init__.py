"""Where blocks come from: files read where they lie, block files, and sources made of other sources."""
