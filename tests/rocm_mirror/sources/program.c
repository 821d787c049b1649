/* A program of the mirror (ld.lld, clang, rocminfo): says its name and that it is made up. */
#include <stdio.h>
int main(void) {
  puts(NAME ": made up by rockiln's tests; it does nothing");
  return 0;
}
