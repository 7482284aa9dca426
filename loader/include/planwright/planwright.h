/* Planwright's loader: opens an engine file, runs it. C ABI.
 *
 *   pw_engine *engine; pw_context *context;
 *   pw_engine_open("model.engine", NULL, &engine);
 *   pw_context_create(engine, NULL, &context);
 *   pw_context_set_input_shape(context, "x", (int64_t[]){1, 3, 224, 224}, 4);
 *   pw_context_bind(context, "x", input, input_bytes);
 *   pw_context_bind(context, "y", output, output_bytes);
 *   pw_context_run(context);
 *   pw_context_destroy(context);
 *   pw_engine_close(engine);
 *
 * Every function that returns int returns PW_OK (0) or a pw_status; then pw_last_error() has the words. A failed call
 * changes nothing unless its comment says so. The library does not print, abort, throw, read the environment, or
 * open anything but the engine file. All sizes are bytes, all dims elements, in ONNX's axis order, row-major.
 *
 * Threads: an engine may be used by any number of threads at once. A context belongs to one caller at a time: a call
 * that finds another call on the same context in progress returns PW_PRECONDITION.
 *
 * After fork() a child may use engines opened before it, but no context made before it: its threads are gone.
 */
#ifndef PLANWRIGHT_PLANWRIGHT_H_
#define PLANWRIGHT_PLANWRIGHT_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PW_API __attribute__((visibility("default")))
#else
#define PW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pw_status {
  PW_OK = 0,
  PW_INVALID = 1,      /* what the caller passed is wrong in itself */
  PW_UNSUPPORTED = 2,  /* a sound request that this library does not do */
  PW_CORRUPT = 3,      /* the bytes cannot be what a builder wrote */
  PW_INCOMPATIBLE = 4, /* a sound file, but not for this library or CPU; the text names what is missing */
  PW_RESOURCE = 5,     /* memory or address space ran out */
  PW_IO = 6,           /* the operating system failed a file operation */
  PW_CANCELLED = 7,
  PW_PRECONDITION = 8 /* wrong state or order of calls, or run-time data that breaks an operator's contract */
} pw_status;

/* Types of less than a byte take a byte an element, of which only the low bits are read: the value as an int8 or uint8
 * for integers, the code for floats (sign, exponent E, mantissa M). Only model files pack them. */
typedef enum pw_dtype {
  PW_FLOAT32 = 0,
  PW_FLOAT64 = 1,
  PW_FLOAT16 = 2,
  PW_BFLOAT16 = 3,
  PW_INT8 = 4,
  PW_INT16 = 5,
  PW_INT32 = 6,
  PW_INT64 = 7,
  PW_UINT8 = 8,
  PW_UINT16 = 9,
  PW_UINT32 = 10,
  PW_UINT64 = 11,
  PW_BOOL = 12, /* one byte, 0 or 1 */
  PW_FLOAT8_E4M3FN = 13,
  PW_FLOAT8_E4M3FNUZ = 14,
  PW_FLOAT8_E5M2 = 15,
  PW_FLOAT8_E5M2FNUZ = 16,
  PW_FLOAT8_E8M0 = 17,
  PW_FLOAT6_E2M3 = 18,
  PW_FLOAT6_E3M2 = 19,
  PW_FLOAT4_E2M1 = 20,
  PW_INT4 = 21,
  PW_UINT4 = 22,
  PW_INT2 = 23,
  PW_UINT2 = 24
} pw_dtype;

enum { PW_MAX_RANK = 8, PW_MAX_VALUES = 64 };

typedef struct pw_engine pw_engine;
typedef struct pw_context pw_context;

/* The words of the calling thread's last failure; never NULL, owned by the library, valid until this thread's next
 * call. */
PW_API const char* pw_last_error(void);

/* "X.Y.Z"; static. */
PW_API const char* pw_version(void);

/* ---- Engines */

typedef enum pw_source {
  PW_SOURCE_MAP = 0, /* map the weights: processes share them. The file must not be cut short while open. */
  PW_SOURCE_READ = 1 /* read everything into memory: the file may change afterwards */
} pw_source;

typedef struct pw_open_options {
  size_t struct_size; /* sizeof(pw_open_options) */
  int32_t source;     /* pw_source */
  int32_t trusted;    /* 1: skip the checksums of the weights (the plan is always verified) */
} pw_open_options;

/* Opens and verifies the engine file at `path`. NULL options: map, check everything.
 * On success *engine is the caller's, to be closed. Errors: IO, CORRUPT, INCOMPATIBLE, RESOURCE, INVALID. */
PW_API int pw_engine_open(const char* path, const pw_open_options* options, pw_engine** engine);

/* The same from `bytes` bytes at `data` (64-byte aligned), which must outlive the engine and its contexts unless
 * options say PW_SOURCE_READ. Errors: as above. */
PW_API int pw_engine_open_memory(const void* data, size_t bytes, const pw_open_options* options, pw_engine** engine);

/* Gives the engine up; it goes when its last context does. NULL is fine. */
PW_API void pw_engine_close(pw_engine* engine);

typedef struct pw_binding {
  const char* name; /* the engine's; valid while it is open */
  int32_t dtype;    /* pw_dtype */
  int32_t is_input;
  size_t rank;
  int64_t dims[PW_MAX_RANK]; /* -1: depends on the shapes set, or on values */
} pw_binding;

/* Inputs come first, each group in the model's order. */
PW_API size_t pw_engine_binding_count(const pw_engine* engine);
/* Errors: INVALID for an index out of range. */
PW_API int pw_engine_binding(const pw_engine* engine, size_t index, pw_binding* binding);

PW_API size_t pw_engine_profile_count(const pw_engine* engine);
/* The range of one input in one profile; each array has room for PW_MAX_RANK, may be NULL. *rank is set.
 * Errors: INVALID for a profile, a name that is no input. */
PW_API int pw_engine_profile(const pw_engine* engine, size_t profile, const char* input, int64_t* min, int64_t* opt,
                             int64_t* max, size_t* rank);

/* The same for the values of a shape input, whose contents decide shapes: one range an element, in row-major order,
 * each array with room for PW_MAX_VALUES. *count is 0 for other inputs. Of types other than int32 and int64: the
 * element's bytes, zero-extended, and min = max. pw_context_run checks the values. */
PW_API int pw_engine_profile_values(const pw_engine* engine, size_t profile, const char* input, int64_t* min,
                                    int64_t* opt, int64_t* max, size_t* count);

typedef struct pw_engine_info {
  size_t struct_size;   /* in: sizeof(pw_engine_info) */
  const char* producer; /* the builder and its version */
  const char* device;   /* what it was tuned on */
  int32_t tuned_threads;
  int32_t same_device; /* 1: this machine has the same fingerprint */
  uint64_t file_bytes;
  uint64_t weight_bytes;
  double open_ms; /* what opening took */
  const char*
      note; /* in which precision it computes besides its types' own, how far off that was; "": nothing to say */
} pw_engine_info;
PW_API int pw_engine_get_info(const pw_engine* engine, pw_engine_info* info);

/* ---- Contexts */

/* Runs `task(task_context, i, worker)` for i in [0, tasks), returns when all are done; worker in [0, workers), no two
 * tasks with one worker at once. */
typedef void (*pw_parallel_for)(void* user, int64_t tasks, void (*task)(void* task_context, int64_t i, int worker),
                                void* task_context);

typedef struct pw_layer_event {
  size_t step;
  const char* name; /* the engine's */
  double start_ms, end_ms;
} pw_layer_event;

typedef struct pw_context_options {
  size_t struct_size;           /* sizeof(pw_context_options) */
  int32_t threads;              /* 0: what the engine was tuned for; 1: the caller's thread alone */
  int32_t profile;              /* 1 + the profile to use; 0: the tightest that holds the shapes */
  pw_parallel_for parallel_for; /* the caller's pool of `threads` workers, in place of the library's; NULL: none */
  void* parallel_for_user;
  void* arena; /* the caller's memory, 64-byte aligned, for the context's life; NULL: the library allocates */
  size_t arena_bytes;
  void (*layer_hook)(void* user, const pw_layer_event* event); /* called after every step, on the running thread; those
                                                                  inside a Loop or If are part of its time */
  void* layer_hook_user;
} pw_context_options;

/* Makes a context; NULL options are the defaults. It keeps its engine alive. The arena is allocated when shapes are
 * first complete, for the profile they choose. Errors: INVALID, RESOURCE. */
PW_API int pw_context_create(pw_engine* engine, const pw_context_options* options, pw_context** context);

/* NULL is fine. */
PW_API void pw_context_destroy(pw_context* context);

/* Sets one input's dims; static inputs need it not, their own shape is accepted. Once every input has its shape (here
 * or at the next call that needs them) a profile is picked, guards are checked and output shapes are known.
 * Errors: INVALID for an unknown name, a rank or dim outside every profile, a guard that does not hold (naming its
 * layer); RESOURCE. After a failure the shapes set before stand. */
PW_API int pw_context_set_input_shape(pw_context* context, const char* name, const int64_t* dims, size_t rank);

/* The dims of an output (or input) for the shapes set. *rank is in: room in dims, out: the rank.
 * An output whose shape depends on the values of a shape input has one once that input is bound; one whose shape
 * depends on computed values (NonZero, ...) has that of the last run. Errors: INVALID for an unknown name or too little
 * room; PRECONDITION while an input has no shape, such an input is not bound, nothing has run. */
PW_API int pw_context_output_shape(pw_context* context, const char* name, int64_t* dims, size_t* rank);

/* Bytes that are enough for an output at any shape of the profile in use. Errors: as above. */
PW_API int pw_context_output_limit(pw_context* context, const char* name, size_t* bytes);

/* Has run() read or write the caller's `bytes` bytes at `data`, which stay the caller's and must live until rebound or
 * the context goes. Aligned to the element; at least as large as the tensor when run() is called. Outputs must not
 * overlap inputs or one another. Errors: INVALID (checked again, with shapes, by run). */
PW_API int pw_context_bind(pw_context* context, const char* name, void* data, size_t bytes);

/* Runs once, on the calling thread and the context's workers; outputs are complete on return.
 * Errors: INVALID for a binding missing, short, misaligned or overlapping, or a value outside the profile (before
 * anything ran; for outputs whose shape is computed, then); PRECONDITION for shapes not set or run-time data such as an
 * index out of range (outputs are then undefined); RESOURCE. */
PW_API int pw_context_run(pw_context* context);

typedef struct pw_context_info {
  size_t struct_size; /* in: sizeof(pw_context_info) */
  int32_t profile;    /* in use; -1 before shapes are complete */
  int32_t threads;
  uint64_t arena_bytes; /* scratch of all workers included */
  uint64_t step_count;
} pw_context_info;
PW_API int pw_context_get_info(pw_context* context, pw_context_info* info);

/* ---- Steps, for reports */

typedef struct pw_step_info {
  const char* name;   /* the layer */
  const char* op;     /* "Conv" */
  const char* tactic; /* the kernel's name */
  float tuned_us;     /* as measured by the builder; 0: not timed */
} pw_step_info;
PW_API size_t pw_engine_step_count(const pw_engine* engine, size_t profile);
PW_API int pw_engine_step(const pw_engine* engine, size_t profile, size_t step, pw_step_info* info);

#ifdef __cplusplus
}
#endif

#endif /* PLANWRIGHT_PLANWRIGHT_H_ */
