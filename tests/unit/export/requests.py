"""Requests of the real matrix and of small rows, for tests of the formats."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import yaml

from rockiln.cli import _make_invocation, make_parser
from rockiln.export.documents import Document
from rockiln.invocation import Invocation
from rockiln.verbs.export import make_documents

ROOT = Path(__file__).parents[3]
TO = "registry.example/you/{framework}"
REF = f"registry.example/you/jax@sha256:{'ab' * 32}"
ALL_RUNNERS = (
    "--runner", "gfx942=self-hosted,mi300", "--runner", "gfx942/multi-gpu=self-hosted,mi300x8",
    "--runner", "gfx950=mi350", "--runner", "gfx950/multi-gpu=mi350x8",
)  # fmt: skip


@cache
def invoke() -> Invocation:
    """On the repository's own matrix; its plan is made once."""
    return _make_invocation(parse("plan"), ROOT, {})


def parse(*words: str) -> argparse.Namespace:
    return make_parser().parse_args(words)


def export(*words: str) -> tuple[Document, ...]:
    """What `rockiln export WORDS` would write."""
    return make_documents(parse("export", *words), invoke())


def load(text: str) -> list[object]:
    """As a reader of YAML 1.1 has it."""
    return list(yaml.safe_load_all(text))
