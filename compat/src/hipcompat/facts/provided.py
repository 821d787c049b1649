"""Names and headers that HIP lacks and hipcompat's own headers provide → what provides them.

Translation adds a line here when its headers come to define a name; scan then counts it as translated, not missing.
"""

from __future__ import annotations

from collections.abc import Mapping

PROVIDED: Mapping[str, str] = {
    "CUBLAS_STATUS_LICENSE_ERROR": "hipcompat/status.h",
    "CUFFT_MISSING_DEPENDENCY": "hipcompat/status.h",
    "CUFFT_NVJITLINK_FAILURE": "hipcompat/status.h",
    "CUFFT_NVRTC_FAILURE": "hipcompat/status.h",
    "CUFFT_NVSHMEM_FAILURE": "hipcompat/status.h",
}
"""A name of CUDA, or a header as it is included → the header of hipcompat that holds it."""
