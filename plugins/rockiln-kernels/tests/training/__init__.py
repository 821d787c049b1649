"""A tiny transformer that every framework trains from the same weights: the recipe, and its losses in float64."""
