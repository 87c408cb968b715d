"""Public functions: every command as one documented call; ``import kgprobe`` offers them."""
