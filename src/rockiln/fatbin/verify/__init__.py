"""Two files → proof that one is the other without some device code. Shares no code with what makes the cut.

Only the question which ids serve an arch (`entry_ids`) is answered once for both.
"""
