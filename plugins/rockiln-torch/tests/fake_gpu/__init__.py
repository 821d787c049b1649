"""A fake GPU under torch: packs and what they must give, and torch's CPU tensors as its memory."""
