"""Plan → files for machines that others run: CI systems, BuildKit, Kubernetes, editors, clusters."""
