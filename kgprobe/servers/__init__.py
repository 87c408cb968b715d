"""Graph servers that kgprobe starts itself: engines as child processes, shared by whoever needs them."""
