"""The optional arguments of one of AITER's long functions → their values, those without an answer here refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

from rockiln_torch.aiter.unsupported import refuse_others

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """AITER's order and defaults behind the arguments that a function spells out."""

    function: str
    required: int
    """How many arguments it spells out."""
    defaults: Mapping[str, Any]
    used: frozenset[str] = frozenset()
    """Those that the function reads."""
    hints: frozenset[str] = frozenset()
    """Those that choose among AITER's kernels, and are no part of the result. Any other must have its default."""

    def bind(self, args: tuple[Any, ...], words: Mapping[str, Any]) -> dict[str, Any]:
        """All values by name. Raises TypeError as Python does, UnsupportedArgumentError for what is not taken."""
        if len(args) > len(self.defaults):
            most = self.required + len(self.defaults)
            counts = f"from {self.required} to {most} positional arguments but {self.required + len(args)} were given"
            raise TypeError(f"{self.function}() takes {counts}")
        given = dict(zip(self.defaults, args, strict=False))
        if twice := given.keys() & words.keys():
            raise TypeError(f"{self.function}() got multiple values for argument {min(twice)!r}")
        if unknown := words.keys() - self.defaults.keys():
            raise TypeError(f"{self.function}() got an unexpected keyword argument {min(unknown)!r}")
        values = {**self.defaults, **given, **words}
        fixed = [name for name in values if name not in self.used and name not in self.hints]
        refuse_others(self.function, **{name: (values[name], self.defaults[name]) for name in fixed})
        return values

    def describe(self, function: Function) -> Function:
        """Give a function of `*args, **words` the signature that it has in AITER."""
        own = [item for item in signature(function).parameters.values() if item.kind is Parameter.POSITIONAL_OR_KEYWORD]
        more = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value) for name, value in self.defaults.items()
        ]
        function.__signature__ = Signature([*own, *more])  # type: ignore[attr-defined]
        return function
