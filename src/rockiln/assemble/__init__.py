"""Unpacked debs and wheels → Rootfs: one tree, with what package scripts would have done applied as data."""
