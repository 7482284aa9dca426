// Group (and instance) normalisation, fp32, channels-last: an image's pixels are cut into parts, each a task that sums
// its pixels channel by channel; the sums of a group's channels and parts are joined in one fixed order.
//
// Three passes over the image: the mean, the variance about it, the result.
#include "tactics/kernels/fast/loop_nest.h"
#include "tactics/kernels/fast/vector.h"

namespace planwright::PW_TIER_NAMESPACE {
namespace {

constexpr int64_t kTaskElements = 1 << 14;
constexpr int64_t kMostParts = 16;
// Pixels that are summed before their sum joins the part's, so that rounding grows with the number of such runs.
constexpr int64_t kRun = 256;

Status validate(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kGroupNorm).validate(args));
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  if (x.dtype != DType::kF32) return error(StatusCode::kUnsupported, "not fp32");
  if (x.dims[1] > 1 && (x.strides[1] != 1 || y.strides[1] != 1)) {
    return error(StatusCode::kUnsupported, "channels are not innermost");
  }
  return kOkStatus;
}

// For each image: a row of channels for each part, then one of means and one of inverse deviations.
size_t workspace_size(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  return static_cast<size_t>(x.dims[0]) * static_cast<size_t>(x.dims[1]) * (kMostParts + 2) * sizeof(float);
}

struct Job {
  const KernelArgs& args;
  LoopNest pixels;  // of one image: view 0 is y, view 1 is x
  int64_t images, channels, groups;
  int64_t count;              // pixels of an image
  int64_t parts, part_count;  // and of a part

  const float* x(int64_t image) const { return args.inputs[0].as<const float>() + image * args.inputs[0].strides[0]; }
  float* y(int64_t image) const { return args.outputs[0].as<float>() + image * args.outputs[0].strides[0]; }
  float* row(int64_t image, int64_t index) const {
    return reinterpret_cast<float*>(args.workspace) + (image * (kMostParts + 2) + index) * channels;
  }
  float* means(int64_t image) const { return row(image, kMostParts); }
  float* inverses(int64_t image) const { return row(image, kMostParts + 1); }
};

Job make_job(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  int64_t strides[2][kMaxRank];
  for (int axis = 2; axis < x.rank; ++axis) {
    strides[0][axis - 2] = y.strides[axis];
    strides[1][axis - 2] = x.strides[axis];
  }
  Job job = {args,
             make_loop_nest(x.rank - 2, x.dims + 2, 2, strides),
             x.dims[0],
             x.dims[1],
             args.params_as<GroupNormParams>().groups,
             0,
             1,
             0};
  job.count = job.pixels.outer_count() * job.pixels.inner();
  const int64_t wanted = job.count * job.channels / kTaskElements;
  job.parts = wanted < 1 ? 1 : wanted < kMostParts ? wanted : kMostParts;
  job.part_count = (job.count + job.parts - 1) / job.parts;
  job.parts = (job.count + job.part_count - 1) / job.part_count;
  return job;
}

// Calls body(y offset, x offset) for pixels [begin, end).
template <typename Body>
HWY_INLINE void for_each_pixel(const Job& job, int64_t begin, int64_t end, const Body& body) {
  const int64_t inner = job.pixels.inner();
  const int axis = job.pixels.rank - 1;
  OuterPosition at(job.pixels, begin / inner);
  for (int64_t i = begin, column = begin % inner; i < end; ++i) {
    body(at.offset(0) + column * job.pixels.strides[0][axis], at.offset(1) + column * job.pixels.strides[1][axis]);
    if (++column == inner) {
      column = 0;
      at.next();
    }
  }
}

HWY_INLINE FloatVec load_up_to(const float* from, int valid) {
  return valid == kLanes ? hn::LoadU(kF, from) : load_n(from, valid);
}
HWY_INLINE void store_up_to(FloatVec value, float* to, int valid) {
  if (valid == kLanes) return hn::StoreU(value, kF, to);
  store_n(value, to, valid);
}

// Sums of a part's pixels for each channel: of the elements, or of their squared distances from the group's mean.
template <bool kSquares>
void sum_part(const Job& job, int64_t image, int64_t part) {
  const int64_t begin = part * job.part_count;
  const int64_t end = begin + job.part_count < job.count ? begin + job.part_count : job.count;
  const float* x = job.x(image);
  for (int64_t c = 0; c < job.channels; c += kLanes) {
    const int valid = static_cast<int>(job.channels - c < kLanes ? job.channels - c : kLanes);
    const FloatVec mean = kSquares ? load_up_to(job.means(image) + c, valid) : hn::Zero(kF);
    FloatVec total = hn::Zero(kF);
    for (int64_t first = begin; first < end; first += kRun) {
      FloatVec sum = hn::Zero(kF);
      for_each_pixel(job, first, first + kRun < end ? first + kRun : end, [&](int64_t, int64_t offset) {
        const FloatVec value = load_up_to(x + offset + c, valid);
        const FloatVec distance = hn::Sub(value, mean);
        sum = kSquares ? hn::MulAdd(distance, distance, sum) : hn::Add(sum, value);
      });
      total = hn::Add(total, sum);
    }
    store_up_to(total, job.row(image, part) + c, valid);
  }
}

// A group's mean over the elements that the parts summed, in double: few additions, and the order is fixed.
double mean_of_group(const Job& job, int64_t image, int64_t group) {
  const int64_t size = job.channels / job.groups;
  double sum = 0;
  for (int64_t part = 0; part < job.parts; ++part) {
    const float* sums = job.row(image, part) + group * size;
    for (int64_t c = 0; c < size; ++c) sum += static_cast<double>(sums[c]);
  }
  return sum / (static_cast<double>(size) * static_cast<double>(job.count));
}

void set_group(const Job& job, float* row, int64_t group, float value) {
  const int64_t size = job.channels / job.groups;
  for (int64_t c = group * size; c < (group + 1) * size; ++c) row[c] = value;
}

void normalise_part(const Job& job, int64_t image, int64_t part) {
  const int64_t begin = part * job.part_count;
  const int64_t end = begin + job.part_count < job.count ? begin + job.part_count : job.count;
  const float *x = job.x(image), *means = job.means(image), *inverses = job.inverses(image);
  float* y = job.y(image);
  for_each_pixel(job, begin, end, [&](int64_t y_offset, int64_t x_offset) {
    for (int64_t c = 0; c < job.channels; c += kLanes) {
      const int valid = static_cast<int>(job.channels - c < kLanes ? job.channels - c : kLanes);
      const FloatVec distance = hn::Sub(load_up_to(x + x_offset + c, valid), load_up_to(means + c, valid));
      store_up_to(hn::Mul(distance, load_up_to(inverses + c, valid)), y + y_offset + c, valid);
    }
  });
}

Status run(const KernelArgs& args) {
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  const Job job = make_job(args);
  const auto for_each_part = [&](const auto& body) {
    parallel_for(*args.executor, job.images * job.parts,
                 [&](int64_t task, int) { body(task / job.parts, task % job.parts); });
  };
  const auto for_each_group = [&](const auto& body) {
    for (int64_t i = 0; i < job.images * job.groups; ++i) body(i / job.groups, i % job.groups);
  };
  const double epsilon = static_cast<double>(args.params_as<GroupNormParams>().epsilon);
  for_each_part([&](int64_t image, int64_t part) { sum_part<false>(job, image, part); });
  for_each_group([&](int64_t image, int64_t group) {
    set_group(job, job.means(image), group, static_cast<float>(mean_of_group(job, image, group)));
  });
  for_each_part([&](int64_t image, int64_t part) { sum_part<true>(job, image, part); });
  for_each_group([&](int64_t image, int64_t group) {
    const double variance = mean_of_group(job, image, group);
    set_group(job, job.inverses(image), group, static_cast<float>(1.0 / __builtin_sqrt(variance + epsilon)));
  });
  for_each_part([&](int64_t image, int64_t part) { normalise_part(job, image, part); });
  return kOkStatus;
}

constexpr KernelDescriptor kKernels[] = {{
    .name = "group_norm_f32_" PW_TIER_STRING,
    .revision = 1,
    .op = OpKind::kGroupNorm,
    .isa = PW_TIER_ISA,
    .validate = validate,
    .workspace_size = workspace_size,
    .run = run,
}};

}  // namespace
}  // namespace planwright::PW_TIER_NAMESPACE

PW_EXPORT_KERNELS(group_norm_f32)
