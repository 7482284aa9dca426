/* A plugin for Planwright: com.example::WindowMean, means of windows along the last axis.
 *
 *   X: float32 [..., L]  ->  Y: float32 [..., (L - size) / stride + 1],  attributes: size, stride (1)
 *
 *   cc -O2 -shared -fPIC window_mean.c -o window_mean.so $(pkg-config --cflags planwright)
 *   buildengine --onnx=model.onnx --saveEngine=model.engine --plugins=window_mean.so
 *   runengine --loadEngine=model.engine --plugins=window_mean.so
 */
#include <planwright/plugin.h>
#include <stdio.h>

/* What the engine keeps of the attributes. */
typedef struct parameters {
  int64_t size, stride;
} parameters;

enum { ROWS_A_TASK = 16 };

static int fail(int status, char* message, const char* words) {
  snprintf(message, PW_MESSAGE_BYTES, "%s", words);
  return status;
}

static int shape(pw_node* node, void* block, char* message) {
  parameters* p = (parameters*)block;
  int ok = 1;
  p->size = pw_int_attribute(node, "size", 0, &ok);
  p->stride = pw_int_attribute(node, "stride", 1, &ok);
  if (!ok || p->size < 1 || p->stride < 1) return fail(PW_INVALID, message, "size and stride must be integers above 0");
  const pw_tensor* x = &node->inputs[0];
  if (x->dtype != PW_FLOAT32) return fail(PW_UNSUPPORTED, message, "only float32 is implemented");
  if (x->rank < 1) return fail(PW_INVALID, message, "X has no axis");

  pw_dim dims[PW_MAX_RANK];
  const int32_t last = x->rank - 1;
  for (int32_t axis = 0; axis < last; ++axis) dims[axis] = node->input_dim(node, 0, axis);
  const pw_dim length = node->input_dim(node, 0, last);
  node->require_at_most(node, node->constant(node, p->size), length, "the window fits the row");
  const pw_dim steps = pw_dim_of(node, PW_DIM_FLOOR_DIV, pw_dim_of(node, PW_DIM_SUB, length, p->size), p->stride);
  dims[last] = pw_dim_of(node, PW_DIM_ADD, steps, 1);
  node->set_output(node, 0, PW_FLOAT32, x->rank, dims);
  return PW_OK;
}

/* Parameters and dims come from a file that anyone may have written: whatever run() relies on is checked here. */
static int check(const pw_step* step, char* message) {
  const parameters* p = (const parameters*)step->parameters;
  const pw_tensor *x = &step->inputs[0], *y = &step->outputs[0];
  if (x->dtype != PW_FLOAT32 || y->dtype != PW_FLOAT32)
    return fail(PW_UNSUPPORTED, message, "only float32 is implemented");
  if (x->rank < 1 || y->rank != x->rank) return fail(PW_INVALID, message, "X and Y differ in rank");
  const int32_t last = x->rank - 1;
  for (int32_t axis = 0; axis < last; ++axis) {
    if (x->dims[axis] != y->dims[axis]) return fail(PW_INVALID, message, "X and Y differ in their rows");
  }
  if (p->size < 1 || p->stride < 1 || p->size > x->dims[last])
    return fail(PW_INVALID, message, "the window does not fit");
  if (y->dims[last] != (x->dims[last] - p->size) / p->stride + 1)
    return fail(PW_INVALID, message, "Y has another length");
  return PW_OK;
}

static int64_t rows_of(const pw_step* step) {
  const pw_tensor* x = &step->inputs[0];
  int64_t rows = 1;
  for (int32_t axis = 0; axis + 1 < x->rank; ++axis) rows *= x->dims[axis];
  return rows;
}

static int64_t tasks(const pw_step* step) { return (rows_of(step) + ROWS_A_TASK - 1) / ROWS_A_TASK; }

static int run(const pw_step* step, int64_t task, char* message) {
  (void)message;
  const parameters* p = (const parameters*)step->parameters;
  const int32_t last = step->inputs[0].rank - 1;
  const int64_t length = step->inputs[0].dims[last], steps = step->outputs[0].dims[last];
  const int64_t begin = task * ROWS_A_TASK, rows = rows_of(step);
  const int64_t end = begin + ROWS_A_TASK < rows ? begin + ROWS_A_TASK : rows;
  for (int64_t row = begin; row < end; ++row) {
    const float* x = (const float*)step->inputs[0].data + row * length;
    float* y = (float*)step->outputs[0].data + row * steps;
    for (int64_t i = 0; i < steps; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < p->size; ++k) sum += x[i * p->stride + k];
      y[i] = (float)(sum / (double)p->size);
    }
  }
  return PW_OK;
}

static const pw_operator window_mean = {
    .struct_size = sizeof(pw_operator),
    .domain = "com.example",
    .name = "WindowMean",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .parameter_bytes = sizeof(parameters),
    .shape = shape,
    .check = check,
    .tasks = tasks,
    .run = run,
};
static const pw_operator* const operators[] = {&window_mean};
static const pw_plugin plugin = {
    .struct_size = sizeof(pw_plugin), .abi = PW_PLUGIN_ABI, .operators = operators, .operator_count = 1};

PW_PLUGIN_EXPORT const pw_plugin* planwright_plugin(void) { return &plugin; }
