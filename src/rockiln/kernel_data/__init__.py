"""Files beside ROCm's libraries that hold kernels, or data about kernels, of one GPU or of several.

`judge` decides about one file by its name and its content; nothing in this package writes to a tree.
"""
