"""Recorded builds → how long N machines would take, and what they would move."""
