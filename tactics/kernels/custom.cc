#include "tactics/kernels/custom.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tactics/kernels/reference/reference.h"

namespace planwright {
namespace {

constexpr char kPrefix[] = "plugin:";
constexpr size_t kPrefixLength = sizeof kPrefix - 1;
constexpr size_t kLongestName = 200;
// As an engine's arena (planfmt/header.h): what asks for more is refused, and no sum of two wraps.
constexpr size_t kMostBytes = size_t{1} << 47;

// ---- Calling a plugin

pw_tensor tensor_of(const TensorView& view) {
  pw_tensor tensor = {};
  tensor.given = !view.absent;
  if (view.absent) return tensor;
  tensor.data = view.data;
  tensor.dtype = static_cast<int32_t>(view.dtype);
  tensor.rank = view.rank;
  for (int axis = 0; axis < view.rank; ++axis) tensor.dims[axis] = view.dims[axis];
  return tensor;
}

// A step as its plugin sees it. Of arguments whose counts have been checked.
class Step {
 public:
  explicit Step(const KernelArgs& args) {
    for (int i = 0; i < args.input_count; ++i) inputs_[i] = tensor_of(args.inputs[i]);
    for (int i = 0; i < args.output_count; ++i) outputs_[i] = tensor_of(args.outputs[i]);
    step_.struct_size = sizeof step_;
    step_.parameters = args.params;
    step_.inputs = inputs_;
    step_.outputs = outputs_;
    step_.input_count = args.input_count;
    step_.output_count = args.output_count;
    step_.workspace = args.workspace;
    step_.workspace_bytes = args.workspace_size;
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  const pw_step* get() const { return &step_; }

 private:
  pw_tensor inputs_[PW_MAX_CUSTOM_INPUTS], outputs_[PW_MAX_CUSTOM_OUTPUTS];
  pw_step step_ = {};
};

// What a plugin says of a failure, for its function to write to.
struct Message {
  char text[PW_MESSAGE_BYTES] = {};
  const char* words() {
    text[PW_MESSAGE_BYTES - 1] = 0;
    return text[0] == 0 ? "its plugin gives no reason" : text;
  }
};

Status validate_operand(const TensorView& view, const char* what, int index) {
  PW_REQUIRE(view.absent || is_dense(view), "%s %d of a custom operator is not dense and row-major", what, index);
  return kOkStatus;
}

size_t custom_workspace(const KernelArgs& args) {
  const auto function = args.custom->functions.workspace;
  if (function == nullptr) return 0;
  const size_t bytes = function(Step(args).get());
  return bytes < kMostBytes ? bytes : kMostBytes;
}

Status validate_custom(const KernelArgs& args) {
  PW_REQUIRE(args.custom != nullptr, "a custom operator without a plugin");
  const pw_operator& op = args.custom->functions;
  PW_REQUIRE(args.input_count >= op.min_inputs && args.input_count <= op.max_inputs &&
                 args.output_count >= op.min_outputs && args.output_count <= op.max_outputs,
             "%s cannot have %d inputs and %d outputs", args.custom->title, args.input_count, args.output_count);
  PW_RETURN_IF_ERROR(validate_common(args));
  for (int i = 0; i < args.input_count; ++i) {
    PW_REQUIRE(i >= op.min_inputs || !args.inputs[i].absent, "%s needs its input %d", args.custom->title, i);
    PW_RETURN_IF_ERROR(validate_operand(args.inputs[i], "input", i));
  }
  for (int i = 0; i < args.output_count; ++i) {
    PW_REQUIRE(i >= op.min_outputs || !args.outputs[i].absent, "%s needs its output %d", args.custom->title, i);
    PW_RETURN_IF_ERROR(validate_operand(args.outputs[i], "output", i));
  }
  KernelArgs shapes = args;
  shapes.workspace = nullptr;
  shapes.workspace_size = 0;
  Message message;
  const int status = op.check(Step(shapes).get(), message.text);
  if (status != PW_OK) {
    const StatusCode code = status == PW_UNSUPPORTED ? StatusCode::kUnsupported : StatusCode::kInvalid;
    return error(code, "%s: %s", args.custom->title, message.words());
  }
  PW_REQUIRE(custom_workspace(args) < kMostBytes, "%s: its plugin wants more workspace than memory can be",
             args.custom->title);
  return kOkStatus;
}

// The failure of the earliest task that failed, so that the words do not depend on which came first.
class FirstFailure {
 public:
  void set(int64_t task, Message& message) {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
    if (task_ < 0 || task < task_) {
      task_ = task;
      message_ = message;
    }
    busy_.clear(std::memory_order_release);
  }
  bool any() const { return task_ >= 0; }
  const char* words() { return message_.words(); }

 private:
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  int64_t task_ = -1;
  Message message_;
};

Status run_custom(const KernelArgs& args) {
  const pw_operator& op = args.custom->functions;
  const Step step(args);
  const int64_t tasks = op.tasks == nullptr ? 1 : op.tasks(step.get());
  FirstFailure failure;
  parallel_for(*args.executor, tasks < 1 ? 1 : tasks, [&](int64_t task, int) {
    Message message;
    if (op.run(step.get(), task, message.text) != PW_OK) failure.set(task, message);
  });
  if (!failure.any()) return kOkStatus;
  return error(StatusCode::kPrecondition, "%s: %s", args.custom->title, failure.words());
}

// ---- The registry: a list that only grows, read without a lock

std::atomic<const CustomOperator*> registered{nullptr};
std::atomic_flag registering = ATOMIC_FLAG_INIT;

const CustomOperator* find_version(const char* domain, const char* name, uint32_t version) {
  for (const CustomOperator* op = registered.load(std::memory_order_acquire); op != nullptr; op = op->next) {
    if (op->functions.version == version && strcmp(op->functions.domain, domain) == 0 &&
        strcmp(op->functions.name, name) == 0) {
      return op;
    }
  }
  return nullptr;
}

bool is_same(const pw_operator& a, const pw_operator& b) {
  return a.min_inputs == b.min_inputs && a.max_inputs == b.max_inputs && a.min_outputs == b.min_outputs &&
         a.max_outputs == b.max_outputs && a.parameter_bytes == b.parameter_bytes && a.shape == b.shape &&
         a.check == b.check && a.workspace == b.workspace && a.tasks == b.tasks && a.run == b.run;
}

bool is_range(int32_t least, int32_t most, int32_t low, int32_t high) {
  return low <= least && least <= most && most <= high;
}

Status check_operator(const pw_operator& op, size_t index) {
  PW_REQUIRE(op.struct_size >= sizeof(pw_operator),
             "operator %zu of the plugin: its struct_size is %zu, not sizeof(pw_operator)", index, op.struct_size);
  PW_REQUIRE(op.domain != nullptr && op.name != nullptr && op.domain[0] != 0 && op.name[0] != 0 &&
                 strlen(op.domain) <= kLongestName && strlen(op.name) <= kLongestName,
             "operator %zu of the plugin: its domain and name must have 1 to %zu bytes", index, kLongestName);
  PW_REQUIRE(strncmp(op.domain, "ai.onnx", 7) != 0 || (op.domain[7] != 0 && op.domain[7] != '.'),
             "%s::%s: the domain is ONNX's own; give the operator one of yours", op.domain, op.name);
  PW_REQUIRE(is_range(op.min_inputs, op.max_inputs, 0, PW_MAX_CUSTOM_INPUTS) &&
                 is_range(op.min_outputs, op.max_outputs, 1, PW_MAX_CUSTOM_OUTPUTS),
             "%s::%s takes %d to %d inputs and %d to %d outputs: at most %d, and 1 to %d, in ascending order",
             op.domain, op.name, op.min_inputs, op.max_inputs, op.min_outputs, op.max_outputs, PW_MAX_CUSTOM_INPUTS,
             PW_MAX_CUSTOM_OUTPUTS);
  PW_REQUIRE(op.parameter_bytes <= PW_MAX_PARAMETER_BYTES, "%s::%s has %u bytes of parameters, the most is %d",
             op.domain, op.name, op.parameter_bytes, PW_MAX_PARAMETER_BYTES);
  PW_REQUIRE(op.check != nullptr && op.run != nullptr, "%s::%s has no check() or no run()", op.domain, op.name);
  return kOkStatus;
}

// The operator with copies of its texts, in one piece of memory; null without memory.
CustomOperator* make_operator(const pw_operator& op) {
  const size_t domain = strlen(op.domain), name = strlen(op.name);
  const size_t title = kPrefixLength + domain + 2 + name;
  void* memory = malloc(sizeof(CustomOperator) + title + 1 + domain + 1 + name + 1);
  if (memory == nullptr) return nullptr;
  char* text = static_cast<char*>(memory) + sizeof(CustomOperator);
  auto* made = new (memory) CustomOperator{};
  made->functions = op;
  made->kernel.name = text;
  made->title = text + kPrefixLength;
  memcpy(text, kPrefix, kPrefixLength);
  memcpy(text + kPrefixLength, op.domain, domain);
  memcpy(text + kPrefixLength + domain, "::", 2);
  memcpy(text + kPrefixLength + domain + 2, op.name, name + 1);
  text += title + 1;
  memcpy(text, op.domain, domain + 1);
  made->functions.domain = text;
  text += domain + 1;
  memcpy(text, op.name, name + 1);
  made->functions.name = text;
  made->kernel.revision = op.version;
  made->kernel.op = OpKind::kCustom;
  made->kernel.validate = validate_custom;
  made->kernel.workspace_size = custom_workspace;
  made->kernel.run = run_custom;
  made->kernel.custom = made;
  return made;
}

// With the registry to itself. `made`: what is new, in front of what is registered.
Status add_operators(const pw_plugin& plugin, const CustomOperator** made) {
  for (size_t i = 0; i < plugin.operator_count; ++i) {
    PW_REQUIRE(plugin.operators[i] != nullptr, "operator %zu of the plugin is NULL", i);
    const pw_operator& op = *plugin.operators[i];
    PW_RETURN_IF_ERROR(check_operator(op, i));
    for (size_t other = 0; other < i; ++other) {
      const pw_operator& before = *plugin.operators[other];
      PW_REQUIRE(
          before.version != op.version || strcmp(before.domain, op.domain) != 0 || strcmp(before.name, op.name) != 0,
          "the plugin has %s::%s twice at version %u", op.domain, op.name, op.version);
    }
    if (const CustomOperator* known = find_version(op.domain, op.name, op.version); known != nullptr) {
      PW_REQUIRE(is_same(known->functions, op),
                 "%s::%s version %u is registered already, with other functions: give one of the two another version",
                 op.domain, op.name, op.version);
      continue;
    }
    CustomOperator* next = make_operator(op);
    if (next == nullptr) return error(StatusCode::kResource, "no memory to register %s::%s", op.domain, op.name);
    next->next = *made;
    *made = next;
  }
  return kOkStatus;
}

}  // namespace

Status register_plugin(const pw_plugin* plugin) {
  PW_REQUIRE(plugin != nullptr, "the plugin is NULL");
  if (plugin->struct_size < sizeof(pw_plugin) || plugin->abi != PW_PLUGIN_ABI) {
    return error(StatusCode::kIncompatible,
                 "the plugin was made for ABI %u, this library has %d: compile it with this library's "
                 "planwright/plugin.h",
                 plugin->struct_size < sizeof(pw_plugin) ? 0 : plugin->abi, PW_PLUGIN_ABI);
  }
  PW_REQUIRE(plugin->operators != nullptr || plugin->operator_count == 0, "the plugin's operators are NULL");
  while (registering.test_and_set(std::memory_order_acquire)) {
  }
  const CustomOperator* const before = registered.load(std::memory_order_relaxed);
  const CustomOperator* made = before;
  const Status status = add_operators(*plugin, &made);
  if (status.ok()) {
    registered.store(made, std::memory_order_release);
  } else {
    while (made != before) {
      const CustomOperator* next = made->next;
      free(const_cast<CustomOperator*>(made));
      made = next;
    }
  }
  registering.clear(std::memory_order_release);
  return status;
}

const CustomOperator* find_custom_operator(const char* domain, const char* name) {
  const CustomOperator* newest = nullptr;
  for (const CustomOperator* op = registered.load(std::memory_order_acquire); op != nullptr; op = op->next) {
    if (strcmp(op->functions.domain, domain) != 0 || strcmp(op->functions.name, name) != 0) continue;
    if (newest == nullptr || op->functions.version > newest->functions.version) newest = op;
  }
  return newest;
}

bool is_custom_kernel(const char* kernel) { return strncmp(kernel, kPrefix, kPrefixLength) == 0; }

Status find_custom_kernel(const char* kernel, uint32_t version, const KernelDescriptor** found) {
  const CustomOperator* other = nullptr;
  for (const CustomOperator* op = registered.load(std::memory_order_acquire); op != nullptr; op = op->next) {
    if (strcmp(op->kernel.name, kernel) != 0) continue;
    if (op->functions.version == version) {
      *found = &op->kernel;
      return kOkStatus;
    }
    if (other == nullptr || op->functions.version > other->functions.version) other = op;
  }
  if (other != nullptr) {
    return error(StatusCode::kIncompatible,
                 "the engine needs version %u of the custom operator %s, version %u is registered: build the engine "
                 "again, or register the plugin it was built with",
                 version, other->title, other->functions.version);
  }
  return error(StatusCode::kIncompatible,
               "the engine needs the custom operator %s (version %u), which is not registered: register its plugin "
               "before opening the engine (--plugins=FILE, pw_register_plugin)",
               kernel + kPrefixLength, version);
}

}  // namespace planwright
