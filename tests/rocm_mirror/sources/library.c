/* A library of the mirror without device code: it can be loaded, and says which it is. */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
int PASTE(LIBRARY, version)(void) { return VERSION; }
