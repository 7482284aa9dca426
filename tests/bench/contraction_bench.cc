// Speed of the contractions at the shapes of real layers (layers.txt beside this file, one a line):
//
//   contraction_bench LAYERS [--workers N] [--filter TEXT] [--all] [--cold] [--bytes]
//
// Prints the fastest kernel of each layer whose line holds TEXT, its time and GFLOP/s, and a sum for each model;
// --all prints every kernel and tactic; --cold empties L2 before each run; --bytes makes the layers' operands uint8 by
// int8 and their results uint8. Times are the best of several runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tactics/kernels/cpu.h"
#include "tactics/kernels/thread_pool.h"
#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

struct Layer {
  std::string line, model;
  int count = 1;
  KernelCase work;
  double flops = 0;
  bool constant = true;
};

// "1x3x224x224"
Dims parse_dims(const std::string& text) {
  Dims dims;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, 'x');) dims.push_back(std::stoll(part));
  return dims;
}

// "MODEL COUNT conv|convtranspose|matmul key=value ..."
Layer parse_layer(const std::string& line) {
  Layer layer;
  layer.line = line;
  std::stringstream stream(line);
  std::string op;
  stream >> layer.model >> layer.count >> op;
  std::map<std::string, Dims> values;
  for (std::string item; stream >> item;) {
    const size_t equals = item.find('=');
    values[item.substr(0, equals)] = parse_dims(item.substr(equals + 1));
  }
  Rng rng(1);
  const auto random = [&](const Dims& dims, bool channels_last) {
    return TestTensor::random(rng, DType::kF32, dims,
                              channels_last ? channels_last_strides(dims) : dense_strides(dims));
  };
  if (op == "matmul") {
    const Dims &a = values["a"], &b = values["b"];
    Dims y = a;
    y.back() = b.back();
    layer.constant = values["constant"][0] != 0;
    layer.work = KernelCase::of(OpKind::kMatMul, {random(a, false), random(b, false)}, {TestTensor(DType::kF32, y)});
    layer.flops = 2.0 * static_cast<double>(layer.work.outputs[0].count() * a.back());
    if (layer.constant) add_epilogue(rng, named_epilogues()[1], static_cast<int>(y.size()) - 1, &layer.work);
    return layer;
  }
  const Dims &x = values["x"], &y = values["y"], &kernel = values["kernel"];
  const int64_t group = values["group"][0];
  const bool transposed = op == "convtranspose";
  Dims w = transposed ? Dims{x[1], y[1] / group} : Dims{y[1], x[1] / group};
  w.insert(w.end(), kernel.begin(), kernel.end());
  // The input of a network comes channels-first.
  layer.work =
      KernelCase::of(transposed ? OpKind::kConvTranspose : OpKind::kConv, {random(x, x[1] > 4), random(w, false)},
                     {TestTensor(DType::kF32, y, channels_last_strides(y))});
  ConvParams params;
  params.spatial = static_cast<int32_t>(kernel.size());
  params.group = static_cast<int32_t>(group);
  int64_t taps = 1;
  for (size_t i = 0; i < kernel.size(); ++i) {
    params.stride[i] = static_cast<int32_t>(values["stride"][i]);
    params.dilation[i] = static_cast<int32_t>(values["dilation"][i]);
    taps *= kernel[i];
  }
  // Both params structs have the same members.
  static_assert(sizeof(ConvParams) == sizeof(ConvTransposeParams));
  layer.work.with(params).with_scalars(values["pad"]);
  const TensorView& made = transposed ? layer.work.inputs[0].view() : layer.work.outputs[0].view();
  layer.flops = 2.0 * static_cast<double>(element_count(made) * taps * w[1]);
  add_epilogue(rng, named_epilogues()[4], 1, &layer.work);
  return layer;
}

// The same in bytes: a scale for each column, relu, rounded to uint8.
void make_bytes(Layer* layer) {
  KernelCase& work = layer->work;
  Rng rng(1);
  work.inputs.resize(static_cast<size_t>(work.core_inputs));
  for (size_t i = 0; i < 2; ++i) {
    const TensorView& view = work.inputs[i].view();
    const DType type = i == 0 ? DType::kU8 : DType::kI8;
    work.inputs[i] =
        TestTensor::random(rng, type, work.inputs[i].dims(), Dims(view.strides, view.strides + view.rank), 0, 100);
  }
  const TensorView out = work.outputs[0].view();
  work.outputs[0] = TestTensor(DType::kU8, work.outputs[0].dims(), Dims(out.strides, out.strides + out.rank));
  const bool is_conv = work.op == OpKind::kConv;
  Dims columns(static_cast<size_t>(is_conv ? out.rank - 1 : 1), 1);
  columns[0] = out.dims[is_conv ? 1 : out.rank - 1];
  PwInstr to_byte = pw_compute(PwOp::kConvert, 2, 0, 0, 0, PwClass::kUint);
  to_byte.from = PwClass::kFloat;
  work.with_program({pw_acc(0), pw_load(1, 0), pw_compute(PwOp::kMul, 0, 0, 1), pw_compute(PwOp::kRoundEven, 0, 0),
                     pw_const(1, 0), pw_compute(PwOp::kMax, 0, 0, 1), pw_const(1, 255), pw_compute(PwOp::kMin, 0, 0, 1),
                     to_byte, pw_store(0, 2, PwClass::kUint)},
                    {TestTensor::random(rng, DType::kF32, columns, 1e-4, 1e-3)});
}

std::byte* aligned(std::vector<std::byte>& bytes, size_t size) {
  bytes.resize(size + 64);
  return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
}

// Leaves L2 with other things than a layer's operands, as the rest of a network does.
void evict() {
  static std::vector<char> other(16 << 20, 1);
  for (size_t i = 0; i < other.size(); i += 64) static_cast<volatile char&>(other[i]) = 1;
}

double best_seconds(const KernelDescriptor& kernel, const Layer& layer, const TacticParams& tactic, int workers,
                    bool cold) {
  std::vector<TensorView> views;
  KernelArgs args = layer.work.args(&views);
  args.tactic = tactic;
  std::vector<std::byte> packed, workspace, scratch;
  if (kernel.packed_size != nullptr) {
    args.packed_size = kernel.packed_size(args);
    args.packed = aligned(packed, args.packed_size);
    if (!kernel.pack(args, aligned(packed, args.packed_size)).ok()) return 1e9;
  }
  if (kernel.workspace_size != nullptr) {
    args.workspace_size = kernel.workspace_size(args);
    args.workspace = aligned(workspace, args.workspace_size);
  }
  args.scratch_stride = kernel.scratch_size == nullptr ? 0 : (kernel.scratch_size(args) + 63) / 64 * 64;
  args.scratch = aligned(scratch, args.scratch_stride * static_cast<size_t>(workers));
  InlineExecutor alone;
  ThreadPool* pool = nullptr;
  if (workers > 1 && !ThreadPool::create(workers, &pool).ok()) return 1e9;
  args.executor = workers > 1 ? static_cast<Executor*>(pool) : &alone;
  double best = 1e9, total = 0;
  for (int run = 0; run < 300 && (run < 5 || total < 0.03); ++run) {
    if (cold) evict();
    const auto start = std::chrono::steady_clock::now();
    if (!kernel.run(args).ok()) return 1e9;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = seconds < best ? seconds : best;
    total += seconds;
  }
  ThreadPool::destroy(pool);
  return best;
}

// Returns the fastest kernel's time.
double bench(const Layer& layer, int workers, bool all, bool cold) {
  double fastest = 1e9;
  std::string winner = "nothing but the reference";
  for (const KernelDescriptor* kernel : kernels_of(layer.work.op)) {
    const bool reads_packed = kernel->packed_inputs != 0;
    if (kernel->precision == Precision::kFull && kernel->isa < std::min(detect_isa(), Isa::kAvx512)) continue;
    if (reads_packed != layer.constant) continue;
    if (!validate_case(*kernel, layer.work).ok()) continue;
    TacticParams list[16] = {};
    std::vector<TensorView> views;
    const int count = kernel->tactics == nullptr ? 1 : kernel->tactics(layer.work.args(&views), list, 16);
    for (int i = 0; i < count; ++i) {
      const double seconds = best_seconds(*kernel, layer, list[i], workers, cold);
      if (all) {
        std::printf("  %-36s %4d %4d %10.1f us %7.1f GFLOP/s\n", kernel->name, list[i].v[0], list[i].v[1],
                    seconds * 1e6, layer.flops / seconds * 1e-9);
      }
      if (seconds >= fastest) continue;
      fastest = seconds;
      winner = std::string(kernel->name) + " " + std::to_string(list[i].v[0]) + "," + std::to_string(list[i].v[1]);
    }
  }
  std::printf("%9.1f us %7.1f GFLOP/s  %-34s %s\n", fastest * 1e6, layer.flops / fastest * 1e-9, winner.c_str(),
              layer.line.c_str());
  std::fflush(stdout);
  return fastest;
}

int main(int argc, char** argv) {
  int workers = 1;
  bool all = false, cold = false, bytes = false;
  std::string file, filter;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--all") {
      all = true;
    } else if (flag == "--cold") {
      cold = true;
    } else if (flag == "--bytes") {
      bytes = true;
    } else if (flag == "--workers" && i + 1 < argc) {
      workers = std::atoi(argv[++i]);
    } else if (flag == "--filter" && i + 1 < argc) {
      filter = argv[++i];
    } else {
      file = flag;
    }
  }
  std::ifstream lines(file);
  if (!lines) {
    std::fprintf(stderr, "contraction_bench: cannot read '%s'; give the file of layers\n", file.c_str());
    return 2;
  }
  std::map<std::string, double> sums;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#' || line.find(filter) == std::string::npos) continue;
    Layer layer = parse_layer(line);
    if (bytes) {
      if (!layer.constant || layer.work.op == OpKind::kConvTranspose) continue;
      make_bytes(&layer);
    }
    sums[layer.model] += layer.count * bench(layer, workers, all, cold);
  }
  for (const auto& [model, seconds] : sums) std::printf("%-16s %9.3f ms\n", model.c_str(), seconds * 1e3);
  return 0;
}

}  // namespace
}  // namespace planwright::testing

int main(int argc, char** argv) { return planwright::testing::main(argc, argv); }
