"""The contract of loaders, and their shared readers: lines of compressed files, JSON, values."""
