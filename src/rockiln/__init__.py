"""rockiln: slim, reproducible ROCm images from a version matrix."""

__version__ = "0.1.0"
