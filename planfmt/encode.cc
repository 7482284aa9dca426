#include "planfmt/encode.h"

#include <map>

#include "planfmt/header.h"
#include "schemas/plan_generated.h"

namespace planwright::planfmt {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <typename T>
using VectorOffset = Offset<flatbuffers::Vector<T>>;

// A vector of tables, one made of each element of `list` by `make`.
template <typename List, typename Make>
auto tables(FlatBufferBuilder& builder, const List& list, const Make& make) {
  std::vector<decltype(make(list.front()))> offsets;
  offsets.reserve(list.size());
  for (const auto& element : list) offsets.push_back(make(element));
  return builder.CreateVector(offsets);
}

// The same for structs.
template <typename List, typename Make>
auto structs(FlatBufferBuilder& builder, const List& list, const Make& make) {
  std::vector<decltype(make(list.front()))> values;
  values.reserve(list.size());
  for (const auto& element : list) values.push_back(make(element));
  return builder.CreateVectorOfStructs(values);
}

VectorOffset<uint8_t> aligned_bytes(FlatBufferBuilder& builder, const std::vector<std::byte>& bytes) {
  builder.ForceVectorAlignment(bytes.size(), 1, 8);
  return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

Offset<plan::Guard> encode(FlatBufferBuilder& builder, const GuardModel& guard) {
  const auto layer = builder.CreateString(guard.layer);
  const auto reason = builder.CreateString(guard.reason);
  return plan::CreateGuard(builder, guard.equal ? plan::GuardKind::Equal : plan::GuardKind::AtMost, guard.left,
                           guard.right, layer, reason, guard.region);
}

Offset<plan::Binding> encode(FlatBufferBuilder& builder, const BindingModel& binding) {
  const auto name = builder.CreateString(binding.name);
  const auto dims = builder.CreateVector(binding.dims);
  return plan::CreateBinding(builder, name, binding.is_input ? plan::BindingKind::Input : plan::BindingKind::Output,
                             static_cast<uint8_t>(binding.dtype), dims);
}

Offset<plan::ShapeRange> encode(FlatBufferBuilder& builder, const ShapeRangeModel& range) {
  const auto optional = [&](const std::vector<int64_t>& values) {
    return values.empty() ? VectorOffset<int64_t>() : builder.CreateVector(values);
  };
  const auto min = builder.CreateVector(range.min);
  const auto opt = builder.CreateVector(range.opt);
  const auto max = builder.CreateVector(range.max);
  const auto value_min = optional(range.value_min);
  const auto value_opt = optional(range.value_opt);
  const auto value_max = optional(range.value_max);
  return plan::CreateShapeRange(builder, range.binding, min, opt, max, value_min, value_opt, value_max);
}

Offset<plan::Profile> encode(FlatBufferBuilder& builder, const ProfileModel& profile) {
  const auto inputs =
      tables(builder, profile.inputs, [&](const ShapeRangeModel& range) { return encode(builder, range); });
  return plan::CreateProfile(builder, inputs);
}

Offset<plan::Tensor> encode(FlatBufferBuilder& builder, const TensorModel& tensor) {
  const auto dims = builder.CreateVector(tensor.dims);
  const auto strides = builder.CreateVector(tensor.strides);
  const auto name = builder.CreateString(tensor.name);
  return plan::CreateTensor(builder, tensor.storage, static_cast<uint8_t>(tensor.dtype), dims, strides, tensor.offset,
                            name);
}

// The names of the user's nodes, each once, in the order in which steps first name them.
class NodeNames {
 public:
  explicit NodeNames(const PlanModel& model) {
    for (const ProgramModel& program : model.programs) {
      add(program.steps);
      for (const std::vector<StepModel>& body : program.bodies) add(body);
    }
  }
  const std::vector<std::string>& all() const { return names_; }
  std::vector<uint32_t> indices(const StepModel& step) const {
    std::vector<uint32_t> indices;
    for (const std::string& name : step.onnx) indices.push_back(indices_.at(name));
    return indices;
  }

 private:
  void add(const std::vector<StepModel>& steps) {
    for (const StepModel& step : steps) {
      for (const std::string& name : step.onnx) {
        if (indices_.emplace(name, static_cast<uint32_t>(names_.size())).second) names_.push_back(name);
      }
    }
  }

  std::map<std::string, uint32_t> indices_;
  std::vector<std::string> names_;
};

Offset<plan::Step> encode(FlatBufferBuilder& builder, const StepModel& step, const NodeNames& nodes) {
  const auto inputs = builder.CreateVector(step.inputs);
  const auto outputs = builder.CreateVector(step.outputs);
  const auto params = aligned_bytes(builder, step.params);
  const auto scalars = builder.CreateVector(step.scalars);
  const auto program = aligned_bytes(builder, step.program);
  const auto name = builder.CreateString(step.name);
  const auto onnx = builder.CreateVector(nodes.indices(step));
  const auto regions = builder.CreateVector(step.regions);
  const plan::Tactic tactic(step.tactic);
  const auto results = structs(builder, step.results, [](const StepResultModel& result) {
    return plan::StepResult(result.symbol, result.output, result.element);
  });
  return plan::CreateStep(builder, step.kernel, step.op, inputs, outputs, step.core_inputs, params, scalars, program,
                          &tactic, step.packed, step.workspace, name, onnx, regions, step.time_us, results);
}

Offset<plan::Program> encode(FlatBufferBuilder& builder, const ProgramModel& program, const NodeNames& nodes) {
  const auto storages = structs(builder, program.storages, [](const StorageModel& storage) {
    return plan::Storage(storage.offset, storage.size, storage.index, static_cast<plan::StorageKind>(storage.kind));
  });
  const auto tensors =
      tables(builder, program.tensors, [&](const TensorModel& tensor) { return encode(builder, tensor); });
  std::vector<Offset<plan::Region>> list;
  const auto add_region = [&](const std::vector<StepModel>& steps) {
    list.push_back(plan::CreateRegion(
        builder, tables(builder, steps, [&](const StepModel& step) { return encode(builder, step, nodes); })));
  };
  add_region(program.steps);
  for (const std::vector<StepModel>& body : program.bodies) add_region(body);
  const auto regions = builder.CreateVector(list);
  const auto opt_places =
      program.has_opt_places
          ? structs(builder, program.storages,
                    [](const StorageModel& storage) { return plan::Place(storage.opt_offset, storage.opt_size); })
          : 0;
  return plan::CreateProgram(builder, program.profile, program.isa, storages, tensors, regions, program.arena_size,
                             program.scratch_per_worker, opt_places);
}

Offset<plan::Kernel> encode(FlatBufferBuilder& builder, const KernelModel& kernel) {
  return plan::CreateKernel(builder, builder.CreateString(kernel.name), kernel.revision);
}

}  // namespace

std::vector<BlobPlace> place_blobs(const WeightStore& weights, uint64_t* total) {
  std::vector<BlobPlace> places;
  places.reserve(weights.blobs().size());
  *total = 0;
  for (const auto& blob : weights.blobs()) {
    places.push_back({align_up(*total, kBlobAlignment), blob->size()});
    *total = places.back().offset + places.back().size;
  }
  return places;
}

flatbuffers::DetachedBuffer encode_plan(const PlanModel& model, const std::vector<BlobPlace>& blobs) {
  FlatBufferBuilder builder(1 << 16);
  // Defaults are written too: a field's meaning then never depends on the schema's default of the reader's version.
  builder.ForceDefaults(true);
  const auto encode_each = [&](const auto& list) {
    return tables(builder, list, [&](const auto& element) { return encode(builder, element); });
  };
  const auto producer = builder.CreateString(model.producer);
  const auto device = builder.CreateString(model.device);
  const auto name = builder.CreateString(model.model);
  const auto expressions = structs(builder, model.expressions, [](const ExprModel& expression) {
    return plan::Expr(expression.value, expression.a, expression.b, static_cast<plan::ExprOp>(expression.op));
  });
  const auto symbols = structs(builder, model.symbols, [](const SymbolModel& symbol) {
    return plan::Symbol(symbol.min, symbol.max, symbol.source, symbol.element,
                        static_cast<plan::SymbolOrigin>(symbol.origin));
  });
  const auto guards = encode_each(model.guards);
  const auto bindings = encode_each(model.bindings);
  const auto profiles = encode_each(model.profiles);
  const auto kernels = encode_each(model.kernels);
  const NodeNames nodes(model);
  const auto programs =
      tables(builder, model.programs, [&](const ProgramModel& program) { return encode(builder, program, nodes); });
  const auto node_names = builder.CreateVectorOfStrings(nodes.all());
  const auto weights =
      structs(builder, blobs, [](const BlobPlace& blob) { return plan::Blob(blob.offset, blob.size); });
  const auto note = model.note.empty() ? 0 : builder.CreateString(model.note);
  plan::FinishPlanBuffer(
      builder, plan::CreatePlan(builder, producer, device, model.threads, name, expressions, symbols, guards, bindings,
                                profiles, kernels, programs, weights, node_names, note));
  return builder.Release();
}

}  // namespace planwright::planfmt
