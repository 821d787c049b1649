"""What an image weighs, by package, arch, kind and layer; its budget; its growth. See docs/sizes.md."""
