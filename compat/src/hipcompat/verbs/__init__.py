"""One module a verb: its arguments → its answer. The modules hold no logic of the capability itself."""
