"""Code as people write it → the same on rockiln's ops, by torch.compile's graph or by a mode, where asked for only.

torch.compile(model, backend=make_backend()): rms_norm, swiglu, rotary positions and attention, where spelled out.
with override_sdpa(): scaled_dot_product_attention.
"""

from rockiln_torch.compile.backend import make_backend
from rockiln_torch.compile.replace import Replacement, replace_patterns
from rockiln_torch.compile.sdpa import override_sdpa

__all__ = ["Replacement", "make_backend", "override_sdpa", "replace_patterns"]
