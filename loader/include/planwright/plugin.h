/* Custom operators: what nodes of a domain of your own mean. C ABI; a plugin includes this and links nothing.
 *
 * A custom operator is three functions. shape() runs in the builder: it reads the node's attributes, writes what the
 * kernel needs of them into a parameter block that the engine keeps, and says what types and dims the outputs have, as
 * expressions of the inputs' dims. check() says whether the kernel takes a step; it is asked in the builder, when an
 * engine is opened and when shapes are set. run() computes.
 *
 * Engines hold no code. Whoever opens one registers its operators first:
 *
 *   pw_register_plugin(planwright_plugin());   // linked in, or what dlsym() found under PW_PLUGIN_ENTRY
 *   pw_engine_open(...);
 *
 * An engine whose operator is not registered at its version is refused with PW_INCOMPATIBLE, by name. buildengine and
 * runengine load plugins with --plugins=lib.so.
 *
 * Everything here is plain data and functions; none may throw, or call the library. Text given to the library is
 * copied.
 */
#ifndef PLANWRIGHT_PLUGIN_H_
#define PLANWRIGHT_PLUGIN_H_

#include <planwright/planwright.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#define PW_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define PW_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

enum {
  PW_PLUGIN_ABI = 1, /* rises when a plugin must be compiled anew */
  PW_MAX_CUSTOM_INPUTS = 64,
  PW_MAX_CUSTOM_OUTPUTS = 16,
  PW_MAX_PARAMETER_BYTES = 1 << 16,
  PW_MESSAGE_BYTES = 256
};

/* An operand. Elements are dense and row-major, and lie at a multiple of their size. */
typedef struct pw_tensor {
  void* data;    /* of an input: only to be read */
  int32_t dtype; /* pw_dtype */
  int32_t rank;
  int64_t dims[PW_MAX_RANK];
  int32_t given; /* 0: an optional operand that the node does not have, or an output that nothing reads: skip it */
} pw_tensor;

/* ---- In the builder */

typedef enum pw_attribute_type {
  PW_ATTRIBUTE_INTS = 0,
  PW_ATTRIBUTE_FLOATS = 1,
  PW_ATTRIBUTE_STRING = 2
} pw_attribute_type;

typedef struct pw_attribute {
  int32_t type; /* pw_attribute_type */
  size_t count; /* numbers (1: the attribute may be a single one), or bytes of the string */
  const int64_t* ints;
  const float* floats;
  const char* string; /* ends with a zero byte, and may hold others */
} pw_attribute;

/* A dim as an expression of the inputs' dims, good during one call of shape(). Negative: something failed, and the
 * build will say what; it may be used like any other. */
typedef int32_t pw_dim;

typedef enum pw_dim_op {
  PW_DIM_ADD = 0,
  PW_DIM_SUB = 1,
  PW_DIM_MUL = 2,
  PW_DIM_FLOOR_DIV = 3, /* divisors are positive */
  PW_DIM_CEIL_DIV = 4,
  PW_DIM_MOD = 5,
  PW_DIM_MIN = 6,
  PW_DIM_MAX = 7
} pw_dim_op;

/* A node of the model. The functions are called with it. */
typedef struct pw_node {
  size_t struct_size;
  const char* name; /* the layer */
  /* dims: -1 where a dim varies. data: the elements of a constant, else NULL. */
  const pw_tensor* inputs;
  int32_t input_count;
  int32_t output_count; /* that the model names; at least min_outputs */

  /* The attribute of that name; NULL: the node has none. One that is never asked for is refused as unknown. */
  const pw_attribute* (*attribute)(struct pw_node* node, const char* name);

  pw_dim (*constant)(struct pw_node* node, int64_t value);
  pw_dim (*input_dim)(struct pw_node* node, int32_t input, int32_t axis);
  pw_dim (*combine)(struct pw_node* node, int32_t op, pw_dim a, pw_dim b); /* pw_dim_op */
  /* What must hold: left == right, left <= right. What is not proven for all of a profile is checked when shapes are
   * set, and refused with the layer's name and `reason` ("the window fits the row"). */
  void (*require_equal)(struct pw_node* node, pw_dim left, pw_dim right, const char* reason);
  void (*require_at_most)(struct pw_node* node, pw_dim left, pw_dim right, const char* reason);
  /* Once for every output. dtype: pw_dtype. */
  void (*set_output)(struct pw_node* node, int32_t output, int32_t dtype, int32_t rank, const pw_dim* dims);
} pw_node;

/* ---- Where an engine runs */

typedef struct pw_step {
  size_t struct_size;
  const void* parameters; /* as shape() wrote them, at a multiple of 8; from a file: check() must doubt them */
  const pw_tensor* inputs;
  const pw_tensor* outputs;
  int32_t input_count, output_count;
  void* workspace; /* at a multiple of 64, shared by all tasks, contents undefined; only in run() */
  size_t workspace_bytes;
} pw_step;

/* One operator. Functions that return int return PW_OK, or another pw_status and why in `message`, which has room for
 * PW_MESSAGE_BYTES; the library adds the layer. They must depend on nothing but their arguments, and may be called by
 * any number of threads at once. */
typedef struct pw_operator {
  size_t struct_size; /* sizeof(pw_operator) */
  const char* domain; /* of the model's nodes, "com.example"; not one of ONNX's own */
  const char* name;   /* their op_type */
  uint32_t version;   /* raise it when parameters or results change their meaning: engines with another are refused */
  int32_t min_inputs, max_inputs, min_outputs, max_outputs; /* operands past the least may be missing */
  uint32_t parameter_bytes;

  /* Errors: UNSUPPORTED, INVALID. `parameters` is zeroed; write its fields, so that padding stays zero and one model
   * gives one engine's bytes. NULL where only engines are run. */
  int (*shape)(pw_node* node, void* parameters, char* message);

  /* Whether run() takes these types, dims and parameters; there is no data. Must refuse everything on which run() would
   * read or write past an operand: dims agree with one another only as far as this has checked. What elements hold,
   * such as indices, run() checks. Errors: UNSUPPORTED, INVALID. */
  int (*check)(const pw_step* step, char* message);

  /* Bytes of workspace; must grow with every dim, and is also asked of dims that check() would refuse. NULL: none. */
  size_t (*workspace)(const pw_step* step);

  /* Into how many tasks a step is cut: by its dims and parameters alone. NULL: one. */
  int64_t (*tasks)(const pw_step* step);

  /* Computes task `task` of the outputs. Tasks run in any order, several at once; what one writes no other reads or
   * writes. Errors: PRECONDITION where the data breaks the operator's contract. */
  int (*run)(const pw_step* step, int64_t task, char* message);
} pw_operator;

typedef struct pw_plugin {
  size_t struct_size; /* sizeof(pw_plugin) */
  uint32_t abi;       /* PW_PLUGIN_ABI */
  const pw_operator* const* operators;
  size_t operator_count;
} pw_plugin;

/* A plugin library exports a function of this type under this name:
 *   PW_PLUGIN_EXPORT const pw_plugin* planwright_plugin(void) { return &plugin; } */
typedef const pw_plugin* (*pw_plugin_entry)(void);
#define PW_PLUGIN_ENTRY "planwright_plugin"

/* Makes a plugin's operators known to the process, all or none. Its functions must stay loaded; there is no way back.
 * Any thread, at any time: engines opened afterwards find them. Again is fine; a version that is registered with other
 * functions is not. Errors: INVALID, INCOMPATIBLE for another ABI, RESOURCE. */
PW_API int pw_register_plugin(const pw_plugin* plugin);

/* ---- What most shape functions need */

static inline pw_dim pw_dim_of(pw_node* node, int32_t op, pw_dim a, int64_t b) {
  return node->combine(node, op, a, node->constant(node, b));
}

/* The node's single integer or float of that name, else `fallback`; 0 in *ok where it is of another type. */
static inline int64_t pw_int_attribute(pw_node* node, const char* name, int64_t fallback, int* ok) {
  const pw_attribute* found = node->attribute(node, name);
  if (found == NULL) return fallback;
  if (found->type != PW_ATTRIBUTE_INTS || found->count != 1) return *ok = 0, fallback;
  return found->ints[0];
}
static inline float pw_float_attribute(pw_node* node, const char* name, float fallback, int* ok) {
  const pw_attribute* found = node->attribute(node, name);
  if (found == NULL) return fallback;
  if (found->type != PW_ATTRIBUTE_FLOATS || found->count != 1) return *ok = 0, fallback;
  return found->floats[0];
}

/* Output `output` has the type and dims of input `input`. */
static inline void pw_output_like_input(pw_node* node, int32_t output, int32_t input) {
  pw_dim dims[PW_MAX_RANK];
  const pw_tensor* like = &node->inputs[input];
  for (int32_t axis = 0; axis < like->rank; ++axis) dims[axis] = node->input_dim(node, input, axis);
  node->set_output(node, output, like->dtype, like->rank, dims);
}

/* Elements of an operand. */
static inline int64_t pw_count(const pw_tensor* tensor) {
  int64_t count = 1;
  for (int32_t axis = 0; axis < tensor->rank; ++axis) count *= tensor->dims[axis];
  return count;
}

/* Whether two operands have the same dims. */
static inline int pw_same_dims(const pw_tensor* a, const pw_tensor* b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof(int64_t) * (size_t)a->rank) == 0;
}

#ifdef __cplusplus
}
#endif

#endif /* PLANWRIGHT_PLUGIN_H_ */
