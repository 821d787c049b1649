"""A kernel and one instruction of it → whether to remove it provably changes nothing, told from the code alone."""
