"""Names of what OCI's descriptors point to. https://github.com/opencontainers/image-spec/blob/main/media-types.md."""

from __future__ import annotations

INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
"""Of the config of what is no image."""
