"""Output for people: terminal tables and pages."""
