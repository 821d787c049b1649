"""An image on this host: verified, held against the GPU present, and started with the right flags. See docs/pull.md."""
