"""Commands in Linux namespaces of their own. A small program beside rockiln: it imports nothing but this folder.

sandbox.py starts it under `python -I -S`, so that it is up in milliseconds and forks before any thread exists.
"""
