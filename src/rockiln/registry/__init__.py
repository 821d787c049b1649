"""A client of OCI registries: blobs, manifests, tags, referrers, and who may ask for them."""
