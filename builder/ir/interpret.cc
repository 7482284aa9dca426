#include "builder/ir/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <unordered_map>

#include "builder/ir/control.h"
#include "builder/ir/results.h"
#include "schemas/types/error.h"
#include "tactics/kernels/executor.h"
#include "tactics/kernels/registry.h"

namespace planwright::ir {
namespace {

constexpr size_t kAlignment = 64;  // what kernels ask of workspace and scratch

struct AlignedDelete {
  void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t(kAlignment)); }
};
using AlignedBytes = std::unique_ptr<std::byte, AlignedDelete>;

AlignedBytes allocate(size_t bytes) {
  return AlignedBytes(bytes == 0 ? nullptr
                                 : static_cast<std::byte*>(::operator new(bytes, std::align_val_t(kAlignment))));
}

TensorView view_of(DType dtype, const std::vector<int64_t>& dims, void* data) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.rank = static_cast<int32_t>(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    view.dims[i] = dims[i];
    view.strides[i] = stride;
    stride *= dims[i];
  }
  return view;
}

// 0 where a dim is; throws where the size overflows.
size_t bytes_of(DType dtype, const std::vector<int64_t>& dims, const std::string& layer) {
  size_t bytes = size_of(dtype);
  for (int64_t dim : dims) {
    if (dim < 0) throw Error(StatusCode::kInvalid, fmt::format("{}: a dim is {}", layer, dim));
  }
  for (int64_t dim : dims) {
    if (dim == 0) return 0;
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes)) {
      throw Error(StatusCode::kResource, fmt::format("{}: a tensor's size overflows", layer));
    }
  }
  return bytes;
}

// Of int64 or int32, as symbols stand for.
int64_t integer_at(const Tensor& tensor, size_t element) {
  int64_t value = 0;
  const size_t size = size_of(tensor.dtype);
  std::memcpy(&value, tensor.data.data() + element * size, size);
  return tensor.dtype == DType::kI32 ? static_cast<int32_t>(value) : value;
}

class Interpreter {
 public:
  // `outer`: of a body, what runs the graph around it.
  Interpreter(const Graph& graph, const std::vector<Tensor>& inputs, Interpreter* outer = nullptr)
      : graph_(graph), inputs_(inputs), outer_(outer) {
    const auto count = static_cast<size_t>(graph.value_count());
    computed_.resize(count);
    tensors_.resize(count, nullptr);
    readers_.resize(count, 0);
  }

  std::vector<Tensor> run() {
    check_inputs();
    check_guards();
    load_constants();
    for (NodeId id : graph_.order()) {
      for (ValueId input : graph_.node(id).inputs) {
        if (input != kNone) ++readers_[static_cast<size_t>(input)];
      }
    }
    for (ValueId id : graph_.outputs) ++readers_[static_cast<size_t>(id)];
    for (NodeId id : graph_.order()) {
      run_node(graph_.node(id));
      if (read_results(graph_.node(id))) check_guards();
    }
    std::vector<Tensor> outputs;
    for (ValueId id : graph_.outputs) outputs.push_back(*tensors_[static_cast<size_t>(id)]);
    return outputs;
  }

 private:
  int64_t value_of(int index) const {
    if (const auto result = results_.find(index); result != results_.end()) return result->second;
    if (outer_ != nullptr) return outer_->value_of(index);
    const Symbol& symbol = graph_.expr_pool()->symbols().at(static_cast<size_t>(index));
    if (symbol.origin != SymbolOrigin::kStepResult && symbol.source >= 0 &&
        static_cast<size_t>(symbol.source) < inputs_.size()) {
      const Tensor& input = inputs_[static_cast<size_t>(symbol.source)];
      const auto element = static_cast<size_t>(symbol.element);
      if (symbol.origin == SymbolOrigin::kInputDim && element < input.dims.size()) return input.dims[element];
      const size_t size = size_of(input.dtype);
      if (symbol.origin == SymbolOrigin::kInputValue && (element + 1) * size <= input.data.size()) {
        return integer_at(input, element);
      }
    }
    throw Error(StatusCode::kInvalid, fmt::format("nothing gives symbol {} a value", symbol.name));
  }

  int64_t evaluate(Dim dim) const {
    return ir::evaluate(dim, [this](int index) { return value_of(index); });
  }

  std::vector<int64_t> evaluate(const Shape& shape) const {
    std::vector<int64_t> dims;
    for (Dim dim : shape) dims.push_back(evaluate(dim));
    return dims;
  }

  void check_inputs() {
    if (inputs_.size() != graph_.inputs.size()) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("{} tensors for {} graph inputs", inputs_.size(), graph_.inputs.size()));
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Value& value = graph_.value(graph_.inputs[i]);
      const Tensor& input = inputs_[i];
      if (input.dtype != value.dtype || input.dims != evaluate(value.dims) ||
          input.data.size() != bytes_of(input.dtype, input.dims, value.name)) {
        throw Error(StatusCode::kInvalid, fmt::format("the tensor for input {} is not {}{}", value.name,
                                                      planwright::name_of(value.dtype), to_string(value.dims)));
      }
      tensors_[static_cast<size_t>(value.id)] = &input;
    }
  }

  // Gives symbols that are elements of what the node has made their values. Whether there are any.
  bool read_results(const Node& node) {
    const std::vector<Symbol>& symbols = graph_.expr_pool()->symbols();
    bool any = false;
    for (size_t index = 0; index < symbols.size(); ++index) {
      const Symbol& symbol = symbols[index];
      if (symbol.origin != SymbolOrigin::kStepResult || symbol.source == kNone || symbol.graph != graph_.number())
        continue;
      if (std::find(node.outputs.begin(), node.outputs.end(), symbol.source) == node.outputs.end()) continue;
      const Tensor& made = *tensors_[static_cast<size_t>(symbol.source)];
      const auto element = static_cast<size_t>(symbol.element);
      if ((element + 1) * size_of(made.dtype) > made.data.size()) {
        throw Error(StatusCode::kInvalid, symbol.name + ": no such element");
      }
      results_[static_cast<int>(index)] = integer_at(made, element);
      any = true;
    }
    return any;
  }

  // Those that hang on what is not computed yet wait for it.
  void check_guards() const {
    for (const Guard& guard : graph_.guards) {
      const std::vector<ValueId> results = results_in(graph_, {guard.left, guard.right});
      if (std::any_of(results.begin(), results.end(),
                      [&](ValueId id) { return tensors_[static_cast<size_t>(id)] == nullptr; })) {
        continue;
      }
      const int64_t left = evaluate(guard.left), right = evaluate(guard.right);
      if (guard.equal ? left == right : left <= right) continue;
      throw Error(StatusCode::kInvalid,
                  fmt::format("{}: {} ({}) must be {} {} ({}): {}", guard.layer, to_string(guard.left), left,
                              guard.equal ? "equal to" : "at most", to_string(guard.right), right, guard.reason));
    }
  }

  void load_constants() {
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      const Value& value = graph_.value(id);
      if (value.is_constant()) keep(id, {value.dtype, evaluate(value.dims), *value.constant});
    }
  }

  void keep(ValueId id, Tensor tensor) {
    auto& slot = computed_[static_cast<size_t>(id)];
    slot = std::move(tensor);
    tensors_[static_cast<size_t>(id)] = &*slot;
  }

  std::vector<Tensor> run_body(const Node& node, size_t body, const std::vector<Tensor>& given) {
    return Interpreter(*node.bodies[body], given, this).run();
  }

  // What stands behind a body's inputs from `first` on.
  void add_operands(const Node& node, size_t body, size_t first, std::vector<Tensor>* given) const {
    for (size_t i = first; i < node.bodies[body]->inputs.size(); ++i) {
      given->push_back(*tensors_[static_cast<size_t>(value_behind(node, body, i))]);
    }
  }

  template <typename T>
  T scalar(ValueId id) const {
    T value;
    std::memcpy(&value, tensors_[static_cast<size_t>(id)]->data.data(), sizeof(T));
    return value;
  }

  std::vector<Tensor> run_if(const Node& node) {
    const size_t body = scalar<uint8_t>(node.inputs[0]) != 0 ? 0 : 1;
    std::vector<Tensor> given;
    add_operands(node, body, 0, &given);
    return run_body(node, body, given);
  }

  std::vector<Tensor> run_loop(const Node& node) {
    const auto carried = static_cast<size_t>(node.as<LoopParams>().carried);
    const int64_t trips = node.inputs[0] == kNone ? INT64_MAX : scalar<int64_t>(node.inputs[0]);
    const int32_t iteration = iteration_of(node);
    Tensor count{DType::kI64,
                 graph_.value(node.outputs[0]).dims.empty() ? std::vector<int64_t>{} : std::vector{int64_t{1}},
                 Bytes(sizeof(int64_t))};
    std::vector<Tensor> state{count}, stacks(node.outputs.size() - 1 - carried);
    add_operands(node, 0, 1, &state);
    int64_t done = 0;
    const auto set_iteration = [&] {
      std::memcpy(state[0].data.data(), &done, sizeof done);
      results_[iteration] = done;
    };
    const auto goes_on = [&] { return node.as<LoopParams>().has_condition == 0 || state[1].data[0] != std::byte{0}; };
    for (; done < trips && goes_on(); ++done) {
      set_iteration();
      std::vector<Tensor> made = run_body(node, 0, state);
      for (size_t i = 0; i < carried; ++i) state[i + 1] = std::move(made[i]);
      for (size_t i = carried; i < made.size(); ++i) {
        Bytes& stack = stacks[i - carried].data;
        stack.insert(stack.end(), made[i].data.begin(), made[i].data.end());
      }
    }
    set_iteration();
    std::vector<Tensor> results(state.begin(), state.begin() + static_cast<ptrdiff_t>(carried) + 1);
    for (size_t i = 0; i < stacks.size(); ++i) {
      const Value& value = graph_.value(node.outputs[carried + 1 + i]);
      stacks[i].dtype = value.dtype;
      stacks[i].dims = evaluate(value.dims);
      stacks[i].data.resize(bytes_of(value.dtype, stacks[i].dims, node.name));
      results.push_back(std::move(stacks[i]));
    }
    return results;
  }

  std::vector<Tensor> run_kernel(const Node& node) const {
    std::vector<const Tensor*> operands;
    for (ValueId id : node.inputs) operands.push_back(id == kNone ? nullptr : tensors_[static_cast<size_t>(id)]);
    std::vector<DType> types;
    std::vector<std::vector<int64_t>> dims;
    for (ValueId id : node.outputs) {
      types.push_back(id == kNone ? DType::kF32 : graph_.value(id).dtype);
      dims.push_back(id == kNone ? std::vector<int64_t>{0} : evaluate(graph_.value(id).dims));
    }
    return run_reference(node, operands, evaluate(node.scalars), types, dims);
  }

  void run_node(const Node& node) {
    std::vector<Tensor> results = node.kind == OpKind::kIf     ? run_if(node)
                                  : node.kind == OpKind::kLoop ? run_loop(node)
                                                               : run_kernel(node);
    for (size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] != kNone) keep(node.outputs[i], std::move(results[i]));
    }
    for (ValueId id : node.inputs) {
      if (id != kNone && --readers_[static_cast<size_t>(id)] == 0) computed_[static_cast<size_t>(id)].reset();
    }
  }

  const Graph& graph_;
  const std::vector<Tensor>& inputs_;
  Interpreter* outer_;
  std::unordered_map<int, int64_t> results_;  // symbols that steps have set
  std::vector<std::optional<Tensor>> computed_;
  std::vector<const Tensor*> tensors_;  // of each value: in inputs_ or computed_
  std::vector<int> readers_;            // still to come
};

}  // namespace

std::vector<Tensor> run_reference(const Node& node, const std::vector<const Tensor*>& inputs,
                                  const std::vector<int64_t>& scalars, const std::vector<DType>& output_types,
                                  const std::vector<std::vector<int64_t>>& output_dims) {
  std::vector<TensorView> reads, writes;
  for (const Tensor* input : inputs) {
    if (input == nullptr) {
      reads.emplace_back().absent = true;
    } else {
      // Kernels only read their inputs.
      reads.push_back(view_of(input->dtype, input->dims, const_cast<std::byte*>(input->data.data())));
    }
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < output_types.size(); ++i) {
    outputs.push_back({output_types[i], output_dims[i], Bytes(bytes_of(output_types[i], output_dims[i], node.name))});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    writes.push_back(view_of(outputs[i].dtype, outputs[i].dims, outputs[i].data.data()));
    writes.back().absent = node.outputs[i] == kNone;
  }

  const Bytes params = to_bytes(node.params);
  InlineExecutor executor;
  KernelArgs args;
  args.op = node.kind;
  args.inputs = reads.data();
  args.input_count = static_cast<int32_t>(reads.size());
  args.core_inputs = node.core_inputs;
  args.outputs = writes.data();
  args.output_count = static_cast<int32_t>(writes.size());
  args.params = params.data();
  args.params_size = static_cast<uint32_t>(params.size());
  args.scalars = scalars.data();
  args.scalar_count = static_cast<int32_t>(scalars.size());
  args.program = node.program.data();
  args.program_size = static_cast<int32_t>(node.program.size());
  args.executor = &executor;

  if (node.kind == OpKind::kCustom) {
    throw Error(StatusCode::kUnsupported, fmt::format("{}: a plugin's operator has no reference kernel", node.name));
  }
  const KernelDescriptor& kernel = reference_kernel(node.kind);
  const std::string context = fmt::format("{} ({}): ", node.name, name_of(node.kind));
  throw_if_error(kernel.validate(args), context);
  if (kernel.workspace_size != nullptr) args.workspace_size = kernel.workspace_size(args);
  if (kernel.scratch_size != nullptr) args.scratch_stride = kernel.scratch_size(args);
  const AlignedBytes workspace = allocate(args.workspace_size), scratch = allocate(args.scratch_stride);
  args.workspace = workspace.get();
  args.scratch = scratch.get();
  throw_if_error(kernel.run(args), context);
  return outputs;
}

std::vector<Tensor> interpret(const Graph& graph, const std::vector<Tensor>& inputs) {
  return Interpreter(graph, inputs).run();
}

}  // namespace planwright::ir
