"""shapes.toml → ModelShape: the shapes of models in use, for tests, tuning and benches."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from importlib import resources


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """One model, as its published config.json states it; 0 or "" where it has no such part."""

    name: str
    source: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    activation: str
    eps: float
    rope_theta: float
    weights: str
    value_dim: int = 0
    """Width of a head's values, where it is not head_dim."""
    rotary_dim: int = 0
    """Dims with rotary positions, where not all have them."""
    q_rank: int = 0
    kv_rank: int = 0
    experts: int = 0
    top_k: int = 0
    expert_groups: int = 0
    expert_groups_used: int = 0
    expert_intermediate: int = 0
    shared_experts: int = 0
    gating: str = ""
    sliding_window: int = 0

    @property
    def row_lengths(self) -> tuple[int, ...]:
        """Lengths of the rows that are normalised, activated or quantised, rising."""
        lengths = {self.hidden, self.head_dim, self.q_rank, self.kv_rank, self.intermediate, self.expert_intermediate}
        return tuple(sorted(lengths - {0}))


def read_models() -> tuple[ModelShape, ...]:
    """The models of shapes.toml, in its order. Raises ValueError for a key that is not a field, naming it."""
    text = resources.files("rockiln_kernels").joinpath("shapes.toml").read_text(encoding="utf-8")
    known = {field.name for field in fields(ModelShape)}
    models = []
    for row in tomllib.loads(text)["model"]:
        values = {key.replace("-", "_"): value for key, value in row.items()}
        if unknown := sorted(values.keys() - known):
            raise ValueError(f"shapes.toml, {row.get('name')}: unknown key {unknown[0]!r}")
        models.append(ModelShape(**values))
    return tuple(models)
