"""Whether an image holds together, told without running anything of it. See docs/audit.md."""
