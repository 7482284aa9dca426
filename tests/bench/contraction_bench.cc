// Speed of the contractions at the shapes of real layers: GFLOP/s of every kernel and tactic, the best of several runs.
//
//   contraction_bench [FILTER] [WORKERS]     FILTER: part of a layer's or kernel's name
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tactics/kernels/thread_pool.h"
#include "tests/support/contraction_cases.h"

namespace planwright::testing {
namespace {

struct Layer {
  std::string name;
  KernelCase work;
  double flops;
};

Layer conv(const std::string& name, int64_t channels, int64_t filters, int64_t side, int64_t kernel, int64_t stride,
           int group = 1, bool channels_first = false) {
  Rng rng(1);
  ConvShape shape;
  shape.channels = channels;
  shape.filters = filters;
  shape.group = group;
  shape.input = {side, side};
  shape.kernel = {kernel, kernel};
  shape.stride = {stride, stride};
  shape.pad = shape.pad_end = {kernel / 2, kernel / 2};
  KernelCase c = conv_case(rng, shape);
  if (channels_first) c.inputs[0] = TestTensor::random(rng, DType::kF32, c.inputs[0].dims());
  add_epilogue(rng, named_epilogues()[4], 1, &c);
  const double outputs = static_cast<double>(c.outputs[0].count());
  return {name, c, 2.0 * outputs * static_cast<double>(channels / group * kernel * kernel)};
}

Layer matmul(const std::string& name, const Dims& a, const Dims& b) {
  Rng rng(1);
  Dims y = a;
  y.back() = b.back();
  KernelCase c = KernelCase::of(OpKind::kMatMul,
                                {TestTensor::random(rng, DType::kF32, a), TestTensor::random(rng, DType::kF32, b)},
                                {TestTensor(DType::kF32, y)});
  add_epilogue(rng, named_epilogues()[1], static_cast<int>(y.size()) - 1, &c);
  return {name, c, 2.0 * static_cast<double>(c.outputs[0].count() * a.back())};
}

std::byte* aligned(std::vector<std::byte>& bytes, size_t size) {
  bytes.resize(size + 64);
  return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
}

double best_seconds(const KernelDescriptor& kernel, const Layer& layer, const TacticParams& tactic, int workers) {
  std::vector<TensorView> views;
  KernelArgs args = layer.work.args(&views);
  args.tactic = tactic;
  std::vector<std::byte> packed, workspace, scratch;
  if (kernel.packed_size != nullptr) {
    args.packed_size = kernel.packed_size(args);
    args.packed = aligned(packed, args.packed_size);
    if (!kernel.pack(args, aligned(packed, args.packed_size)).ok()) return 0;
  }
  if (kernel.workspace_size != nullptr) {
    args.workspace_size = kernel.workspace_size(args);
    args.workspace = aligned(workspace, args.workspace_size);
  }
  args.scratch_stride = kernel.scratch_size == nullptr ? 0 : (kernel.scratch_size(args) + 63) / 64 * 64;
  args.scratch = aligned(scratch, args.scratch_stride * static_cast<size_t>(workers));
  InlineExecutor alone;
  ThreadPool* pool = nullptr;
  if (workers > 1 && !ThreadPool::create(workers, &pool).ok()) return 0;
  args.executor = workers > 1 ? static_cast<Executor*>(pool) : &alone;
  double best = 1e9, total = 0;
  for (int run = 0; run < 200 && (run < 5 || total < 0.15); ++run) {
    const auto start = std::chrono::steady_clock::now();
    if (!kernel.run(args).ok()) return 0;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = seconds < best ? seconds : best;
    total += seconds;
  }
  ThreadPool::destroy(pool);
  return best;
}

void bench(const Layer& layer, const std::string& filter, int workers) {
  for (const KernelDescriptor* kernel : kernels_of(layer.work.op)) {
    if ((layer.name + " " + kernel->name).find(filter) == std::string::npos) continue;
    if (!validate_case(*kernel, layer.work).ok()) continue;
    TacticParams list[16] = {};
    std::vector<TensorView> views;
    const int count = kernel->tactics == nullptr ? 1 : kernel->tactics(layer.work.args(&views), list, 16);
    for (int i = 0; i < count; ++i) {
      const double seconds = best_seconds(*kernel, layer, list[i], workers);
      std::printf("%-28s %-36s %d %3d %3d  %9.1f us  %7.1f GFLOP/s\n", layer.name.c_str(), kernel->name, i,
                  list[i].v[0], list[i].v[1], seconds * 1e6, layer.flops / seconds * 1e-9);
      std::fflush(stdout);
    }
  }
}

int main(int argc, char** argv) {
  const std::string filter = argc > 1 ? argv[1] : "";
  const int workers = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::vector<Layer> layers = {
      conv("resnet_stem_7x7s2_nhwc", 3, 64, 224, 7, 2),
      conv("resnet_stem_7x7s2_nchw", 3, 64, 224, 7, 2, 1, true),
      conv("resnet_1x1_64_256_56", 64, 256, 56, 1, 1),
      conv("resnet_1x1_256_64_56", 256, 64, 56, 1, 1),
      conv("resnet_3x3_64_64_56", 64, 64, 56, 3, 1),
      conv("resnet_3x3_128_128_28", 128, 128, 28, 3, 1),
      conv("resnet_1x1_512_128_28", 512, 128, 28, 1, 1),
      conv("resnet_3x3_256_256_14", 256, 256, 14, 3, 1),
      conv("resnet_1x1_1024_256_14", 1024, 256, 14, 1, 1),
      conv("resnet_1x1_256_1024_14", 256, 1024, 14, 1, 1),
      conv("resnet_3x3_512_512_7", 512, 512, 7, 3, 1),
      conv("resnet_1x1_2048_512_7", 2048, 512, 7, 1, 1),
      conv("resnet_1x1s2_512_1024_28", 512, 1024, 28, 1, 2),
      conv("squeeze_1x1_96_16_54", 96, 16, 54, 1, 1),
      conv("squeeze_3x3_16_64_54", 16, 64, 54, 3, 1),
      conv("mobile_1x1_16_96_112", 16, 96, 112, 1, 1),
      conv("mobile_1x1_96_24_56", 96, 24, 56, 1, 1),
      conv("mobile_stem_3x3s2_nchw", 3, 16, 224, 3, 2, 1, true),
      conv("grouped_3x3_128_128_28_g32", 128, 128, 28, 3, 1, 32),
      matmul("minilm_qkv_128", {1, 128, 384}, {384, 384}),
      matmul("minilm_ffn_128", {1, 128, 384}, {384, 1536}),
      matmul("minilm_scores_128", {12, 128, 32}, {12, 32, 128}),
      matmul("gemv_2048_1000", {1, 2048}, {2048, 1000}),
      matmul("gemv_4096_4096", {1, 4096}, {4096, 4096}),
      matmul("rec_head_40x120x6625", {40, 120}, {120, 6625}),
      matmul("square_512", {512, 512}, {512, 512}),
  };
  for (const Layer& layer : layers) bench(layer, filter, workers);
  return 0;
}

}  // namespace
}  // namespace planwright::testing

int main(int argc, char** argv) { return planwright::testing::main(argc, argv); }
