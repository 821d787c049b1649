"""A Transformers model → the same model on rockiln's ops, and back.

from rockiln_torch.models import patch_model

patch = patch_model(model)          # patch.patched and patch.skipped name what, and why not
...
patch.undo()
"""

from rockiln_torch.models.attention import NAME, register_attention
from rockiln_torch.models.patch import ModelPatch, patch_model

__all__ = ["NAME", "ModelPatch", "patch_model", "register_attention"]
