"""Whatever a command does, as one documented call; the door of the package leads here."""
