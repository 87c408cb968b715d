"""What a loader is, and what readers of outside formats share: lines of packed files, JSON, values."""
