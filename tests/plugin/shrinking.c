/* A plugin that breaks plugin.h: its workspace shrinks as its input grows. Its operator copies. */
#include <planwright/plugin.h>

static int shape(pw_node* node, void* block, char* message) {
  (void)block, (void)message;
  node->attribute(node, "size");
  node->attribute(node, "stride");
  const pw_dim dims[] = {node->input_dim(node, 0, 0), node->input_dim(node, 0, 1)};
  node->set_output(node, 0, PW_FLOAT32, 2, dims);
  return PW_OK;
}

static int check(const pw_step* step, char* message) {
  (void)message;
  return memcmp(step->inputs[0].dims, step->outputs[0].dims, 2 * sizeof(int64_t)) == 0 ? PW_OK : PW_INVALID;
}

static size_t workspace(const pw_step* step) { return 65536 / (size_t)(step->inputs[0].dims[0] + 1); }

static int run(const pw_step* step, int64_t task, char* message) {
  (void)task, (void)message;
  const pw_tensor* x = &step->inputs[0];
  memcpy(step->outputs[0].data, x->data, (size_t)(x->dims[0] * x->dims[1]) * sizeof(float));
  return PW_OK;
}

static const pw_operator copy = {
    .struct_size = sizeof(pw_operator),
    .domain = "com.example",
    .name = "WindowMean",
    .version = 1,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .shape = shape,
    .check = check,
    .workspace = workspace,
    .run = run,
};
static const pw_operator* const operators[] = {&copy};
static const pw_plugin plugin = {
    .struct_size = sizeof(pw_plugin), .abi = PW_PLUGIN_ABI, .operators = operators, .operator_count = 1};

PW_PLUGIN_EXPORT const pw_plugin* planwright_plugin(void) { return &plugin; }
