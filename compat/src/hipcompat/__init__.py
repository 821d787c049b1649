"""hipcompat: CUDA-minded code → what ROCm 7 makes of it; facts, findings and flags, and nothing faked."""

__version__ = "0.1.0"
