/* Runs a small engine through the installed C library: consumer_c ENGINE. */
#include <planwright/planwright.h>
#include <stdio.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, pw_last_error());
  return 1;
}

int main(int argc, char** argv) {
  pw_engine* engine;
  pw_context* context;
  const int64_t dims[] = {2, 4};
  float x[8] = {1, 2, 3, 4, -1, 0, 0, 0}, y[6];
  int i;

  if (argc != 2) return 2;
  if (pw_engine_open(argv[1], NULL, &engine) != PW_OK) return fail("open");
  if (pw_context_create(engine, NULL, &context) != PW_OK) return fail("create");
  pw_engine_close(engine); /* the context keeps it */
  if (pw_context_set_input_shape(context, "x", dims, 2) != PW_OK) return fail("shape");
  if (pw_context_bind(context, "x", x, sizeof x) != PW_OK) return fail("bind x");
  if (pw_context_bind(context, "y", y, sizeof y) != PW_OK) return fail("bind y");
  if (pw_context_run(context) != PW_OK) return fail("run");
  pw_context_destroy(context);
  printf("planwright %s:", pw_version());
  for (i = 0; i < 6; ++i) printf(" %g", y[i]);
  printf("\n");
  return 0;
}
