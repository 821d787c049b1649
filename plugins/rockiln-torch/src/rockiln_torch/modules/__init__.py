"""Layers whose weights are packed in fp8 or MX formats → rockiln's ops.

Their layout is in dtypes, shapes and classes alone. No weight is shuffled and no tensor carries an attribute, so
nothing can be lost by .to, state_dict, deepcopy, pickle, safetensors, or by putting another Parameter in a weight's
place.
"""

from rockiln_torch.modules.experts import FusedExperts
from rockiln_torch.modules.linear import Fp8Linear, MxLinear

__all__ = ["Fp8Linear", "FusedExperts", "MxLinear"]
