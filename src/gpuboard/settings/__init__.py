"""gpuboard.toml: read, checked, with an error that names file, key and remedy."""
