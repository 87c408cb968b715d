"""Graph servers that kgprobe starts itself: engines as child processes, shared by all processes that use them."""
