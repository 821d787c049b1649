"""One module a base op → REFERENCES: op name → a NumPy float64 function of the op's arrays and scalars."""
