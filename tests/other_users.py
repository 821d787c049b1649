"""This process → the same program as somebody else, by user namespaces: works for root and for everybody."""

from __future__ import annotations

NOBODY = ("unshare", "--user", "--map-user=12345", "--map-group=12346", "--")
"""What it starts is neither root nor any user that this machine knows, and may not become one."""
ROOT_OF_ITS_OWN = ("unshare", "--user", "--map-root-user", "--")
"""What it starts is root and knows no other user, as in many containers that a plain user starts."""
