/* A program for the engines' contract test: each word does one small thing, in order. Linked statically. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int show(const char *path) {
  char buffer[4096];
  int file = open(path, O_RDONLY);
  if (file < 0) {
    printf("cannot read %s: %s\n", path, strerror(errno));
    return 1;
  }
  ssize_t count;
  while ((count = read(file, buffer, sizeof buffer)) > 0) fwrite(buffer, 1, (size_t)count, stdout);
  close(file);
  return 0;
}

static int put(const char *path) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, "written\n", 8) != 8) {
    printf("cannot write %s: %s\n", path, strerror(errno));
    return 1;
  }
  close(file);
  return 0;
}

static void fill(FILE *stream, long count) {
  char block[4096];
  memset(block, '0', sizeof block);
  for (; count > 0; count -= (long)sizeof block)
    fwrite(block, 1, count < (long)sizeof block ? (size_t)count : sizeof block, stream);
}

static void leave_child(void) {
  fflush(stdout);
  if (fork() == 0) {
    sleep(1000);
    _exit(0);
  }
}

static int act(const char *word, const char *value) {
  if (!strcmp(word, "exit")) exit(atoi(value));
  if (!strcmp(word, "out")) return fputs(value, stdout) < 0;
  if (!strcmp(word, "err")) return fputs(value, stderr) < 0;
  if (!strcmp(word, "env")) return printf("%s\n", getenv(value) ? getenv(value) : "(unset)") < 0;
  if (!strcmp(word, "show")) return show(value);
  if (!strcmp(word, "put")) return put(value);
  if (!strcmp(word, "bytes")) return fwrite("\xff\x00\xfe", 1, 3, stdout) != 3;
  if (!strcmp(word, "big")) return fill(stdout, atol(value)), fill(stderr, atol(value)), 0;
  if (!strcmp(word, "child")) return leave_child(), 0;
  if (!strcmp(word, "sleep")) return fflush(NULL), (int)sleep((unsigned)atoi(value));
  if (!strcmp(word, "id")) return printf("%d:%d\n", (int)getuid(), (int)getgid()) < 0;
  if (!strcmp(word, "cwd")) {
    char folder[4096];
    return puts(getcwd(folder, sizeof folder)) < 0;
  }
  fprintf(stderr, "unknown word %s\n", word);
  return 2;
}

int main(int count, char **words) {
  umask(022);
  for (int i = 1; i + 1 < count; i += 2)
    if (act(words[i], words[i + 1])) return 3;
  return 0;
}
