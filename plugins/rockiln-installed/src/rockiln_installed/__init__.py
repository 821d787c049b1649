"""Texts of installed files → what is installed and whose builds they are; rockiln and hipcompat hold a copy each."""
