"""Engines that run a finished image."""
