"""Models computed by vLLM in this process: ``vllm:NAME``."""
