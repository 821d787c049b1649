"""A Host → its Diagnosis: what keeps the GPUs from being used, first cause first. Nothing is imported or loaded."""

from hipcompat.doctor.diagnose import Diagnosis, diagnose, look_quickly
from hipcompat.doctor.finding import Finding
from hipcompat.doctor.host import Host, Node, read_this_host
from hipcompat.doctor.topology import Gpu, list_gpus
from hipcompat.doctor.visible import Visible, resolve_visible

__all__ = [
    "Diagnosis", "Finding", "Gpu", "Host", "Node", "Visible",
    "diagnose", "list_gpus", "look_quickly", "read_this_host", "resolve_visible",
]  # fmt: skip
