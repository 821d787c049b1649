"""Random calls of every op, and a pack as it would be if all of it compiled."""
