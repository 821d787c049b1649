/* A device library of the mirror: compiled to LLVM bitcode for amdgcn. */
float rockiln_mirror_add(float a, float b) { return a + b; }
