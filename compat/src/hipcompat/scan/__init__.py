"""A tree of source → Report: what breaks on ROCm, where, how badly, and what to do."""

from hipcompat.scan.finding import FileReport, Finding, Report
from hipcompat.scan.rule import Rule, Target
from hipcompat.scan.rules import RULES
from hipcompat.scan.scanner import scan

__all__ = ["RULES", "FileReport", "Finding", "Report", "Rule", "Target", "scan"]
