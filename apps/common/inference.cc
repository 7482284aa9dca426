#include "apps/common/inference.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <random>
#include <thread>

#include "apps/common/interrupt.h"
#include "schemas/types/minifloat.h"

namespace planwright::apps {
namespace {

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

size_t bytes_of(DType dtype, const pw::Dims& dims) {
  size_t bytes = size_of(dtype);
  for (const int64_t dim : dims) bytes *= static_cast<size_t>(dim);
  return bytes;
}

ir::Tensor make_tensor(const pw_binding& binding, const pw::Dims& dims) {
  ir::Tensor tensor{static_cast<DType>(binding.dtype), dims, {}};
  tensor.data.resize(bytes_of(tensor.dtype, dims));
  return tensor;
}

void write_integer(ir::Tensor& tensor, size_t index, int64_t value) {
  // Little-endian: the low bytes are the narrower integer.
  std::memcpy(tensor.data.data() + index * size_of(tensor.dtype), &value, size_of(tensor.dtype));
}

int64_t read_integer(const ir::Tensor& tensor, size_t index) {
  if (tensor.dtype == DType::kI64) {
    int64_t value;
    std::memcpy(&value, tensor.data.data() + index * sizeof value, sizeof value);
    return value;
  }
  int32_t value;
  std::memcpy(&value, tensor.data.data() + index * sizeof value, sizeof value);
  return value;
}

// Puts the calling thread on the index-th core of those it may use.
void pin_to_core(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int wanted = index % CPU_COUNT(&allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

// What one stream's thread measured.
struct Stream {
  std::vector<Query> queries;
  std::vector<LayerTime> layers;
  uint64_t arena_bytes = 0, binding_bytes = 0;
  std::exception_ptr failure;
};

struct LayerCollector {
  bool counting = false;
  std::vector<LayerTime>* layers;

  static void on_layer(void* user, const pw_layer_event* event) {
    auto& self = *static_cast<LayerCollector*>(user);
    if (!self.counting) return;
    if (event->step >= self.layers->size()) self.layers->resize(event->step + 1);
    LayerTime& layer = (*self.layers)[event->step];
    if (layer.ms.empty()) layer.name = event->name;
    layer.ms.push_back(event->end_ms - event->start_ms);
  }
};

void run_stream(const pw::Engine& engine, const InferenceOptions& options, Tensors& inputs, int index,
                Clock::time_point begin, Stream& stream) {
  if (options.pin) pin_to_core(index);
  pw_context_options context = context_options(options);
  LayerCollector collector{false, &stream.layers};
  if (options.layer_times) {
    context.layer_hook = LayerCollector::on_layer;
    context.layer_hook_user = &collector;
  }
  BoundContext bound(engine, context, inputs);
  stream.arena_bytes = bound.info().arena_bytes;
  stream.binding_bytes = bound.binding_bytes();
  const Clock::time_point warm =
      Clock::now() + std::chrono::microseconds(static_cast<int64_t>(options.warmup_ms * 1e3));
  const Clock::time_point end = warm + std::chrono::microseconds(static_cast<int64_t>(options.duration_s * 1e6));
  while (true) {
    stop_if_interrupted();
    const Clock::time_point start = Clock::now();
    collector.counting = start >= warm;
    if (collector.counting && start >= end && stream.queries.size() >= static_cast<size_t>(options.iterations)) return;
    bound.run();
    const Clock::time_point stop = Clock::now();
    if (!collector.counting) continue;
    Query& query = stream.queries.emplace_back();
    query.start_ms = ms_between(begin, start);
    query.end_ms = ms_between(begin, stop);
    query.compute_ms = ms_between(start, stop);
  }
}

long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

Tensors random_inputs(const pw::Engine& engine, const RunShapes& shapes) {
  std::mt19937 random(1);
  Tensors inputs;
  for (const pw_binding& binding : engine.bindings()) {
    if (!binding.is_input) continue;
    ir::Tensor& tensor = inputs[binding.name] = make_tensor(binding, shapes.dims.at(binding.name));
    const size_t size = size_of(tensor.dtype), count = tensor.data.size() / size;
    if (const auto values = shapes.values.find(binding.name); values != shapes.values.end()) {
      for (size_t i = 0; i < count; ++i) write_integer(tensor, i, values->second[i]);
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      std::byte* element = tensor.data.data() + i * size;
      const uint32_t bits = static_cast<uint32_t>(random());
      if (tensor.dtype == DType::kF32) {
        const float value = static_cast<float>(bits) * 0x1p-31f - 1;
        std::memcpy(element, &value, size);
      } else if (tensor.dtype == DType::kF64) {
        const double value = bits * 0x1p-31 - 1;
        std::memcpy(element, &value, size);
      } else if (tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16) {
        const uint16_t one = tensor.dtype == DType::kF16 ? 0x3C00 : 0x3F80;  // 1 or -1
        const uint16_t value = static_cast<uint16_t>(one | (bits & 1) << 15);
        std::memcpy(element, &value, size);
      } else if (is_minifloat(tensor.dtype)) {
        element[0] = std::byte{minifloat_of_float(tensor.dtype, 1)};
      } else {
        element[0] = std::byte(bits & 1);  // the rest is zero
      }
    }
  }
  return inputs;
}

RunShapes shapes_of(const pw::Engine& engine, const Tensors& inputs) {
  RunShapes shapes;
  const ProfileRanges first = profiles_of(engine).front();
  for (const auto& [name, tensor] : inputs) {
    shapes.dims[name] = tensor.dims;
    const auto range = first.find(name);
    if (range == first.end() || range->second.value_opt.empty() || tensor.dims != range->second.opt) continue;
    std::vector<int64_t>& values = shapes.values[name];
    for (size_t i = 0; i < range->second.value_opt.size(); ++i) values.push_back(read_integer(tensor, i));
  }
  return shapes;
}

BoundContext::BoundContext(const pw::Engine& engine, const pw_context_options& options, Tensors& inputs)
    : context_(engine, &options) {
  for (auto& [name, tensor] : inputs) {
    context_.set_input_shape(name, tensor.dims);
    context_.bind(name, tensor.data.data(), tensor.data.size());
    binding_bytes_ += tensor.data.size();
  }
  for (const pw_binding& binding : engine.bindings()) {
    if (!binding.is_input) bind_output(binding);
  }
}

void BoundContext::bind_output(const pw_binding& binding) {
  pw::Dims dims(PW_MAX_RANK);
  size_t rank = dims.size();
  const int status = pw_context_output_shape(context_.get(), binding.name, dims.data(), &rank);
  ir::Bytes* room;
  if (status == PW_PRECONDITION) {
    room = &late_.emplace_back(Late{binding, {}}).room;
    room->resize(context_.output_limit(binding.name));
  } else {
    pw::require(status);
    dims.resize(rank);
    room = &(outputs_[binding.name] = make_tensor(binding, dims)).data;
  }
  context_.bind(binding.name, room->data(), room->size());
  binding_bytes_ += room->size();
}

const Tensors& BoundContext::outputs() {
  for (const Late& late : late_) {
    ir::Tensor& output = outputs_[late.binding.name];
    output.dtype = static_cast<DType>(late.binding.dtype);
    output.dims = context_.shape(late.binding.name);
    const auto bytes = static_cast<std::ptrdiff_t>(bytes_of(output.dtype, output.dims));
    output.data.assign(late.room.begin(), late.room.begin() + bytes);
  }
  return outputs_;
}

pw_context_options context_options(const InferenceOptions& options) {
  pw_context_options context{};
  context.struct_size = sizeof context;
  context.threads = options.threads;
  context.profile = options.profile + 1;
  return context;
}

Measurement measure(const pw::Engine& engine, const InferenceOptions& options, Tensors& inputs) {
  std::vector<Stream> streams(static_cast<size_t>(options.streams));
  const long switches = involuntary_switches();
  const Clock::time_point begin = Clock::now();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < streams.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        run_stream(engine, options, inputs, static_cast<int>(i), begin, streams[i]);
      } catch (...) {
        streams[i].failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  Measurement result;
  for (Stream& stream : streams) {
    if (stream.failure) std::rethrow_exception(stream.failure);
    result.queries.insert(result.queries.end(), stream.queries.begin(), stream.queries.end());
    result.arena_bytes = stream.arena_bytes;
    result.binding_bytes = stream.binding_bytes;
    if (result.layers.empty()) result.layers = std::move(stream.layers);
  }
  std::sort(result.queries.begin(), result.queries.end(),
            [](const Query& a, const Query& b) { return a.start_ms < b.start_ms; });
  double last = 0;
  for (const Query& query : result.queries) last = std::max(last, query.end_ms);
  result.walltime_s = (last - result.queries.front().start_ms) / 1e3;
  // A quiet machine takes the core away a few times a second (timer, kernel threads); a busy one does so all the time.
  result.contended = static_cast<double>(involuntary_switches() - switches) > 20 * (last / 1e3) + 10;
  return result;
}

}  // namespace planwright::apps
