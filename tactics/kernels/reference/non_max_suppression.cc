// NonMaxSuppression: of overlapping boxes, the ones with the highest scores.
#include "tactics/kernels/reference/heap_sort.h"
#include "tactics/kernels/reference/indices.h"

namespace planwright::reference {
namespace {

struct Corners {
  float top, left, bottom, right;
};

float smaller(float a, float b) { return a < b ? a : b; }
float larger(float a, float b) { return a > b ? a : b; }

Corners corners_of(const TensorView& boxes, int64_t batch, int64_t box, bool center) {
  float v[4];
  for (int64_t i = 0; i < 4; ++i) {
    v[i] = load<float>(boxes, batch * boxes.strides[0] + box * boxes.strides[1] + i * boxes.strides[2]);
  }
  // Centre x, centre y, width, height; or two opposite corners as y1, x1, y2, x2, whichever way round.
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {smaller(v[0], v[2]), smaller(v[1], v[3]), larger(v[0], v[2]), larger(v[1], v[3])};
}

float area(const Corners& box) { return (box.bottom - box.top) * (box.right - box.left); }

// Intersection over union; 0 for boxes without area.
float overlap(const Corners& a, const Corners& b) {
  const float height = smaller(a.bottom, b.bottom) - larger(a.top, b.top);
  const float width = smaller(a.right, b.right) - larger(a.left, b.left);
  if (!(height > 0 && width > 0)) return 0;
  const float shared = height * width, joined = area(a) + area(b) - shared;
  return joined > 0 ? shared / joined : 0;
}

float threshold(const KernelArgs& args, int input, float otherwise) {
  return input >= args.core_inputs || args.inputs[input].absent ? otherwise : load<float>(args.inputs[input], 0);
}

int64_t most_per_class(const KernelArgs& args) {
  const int64_t boxes = args.inputs[0].dims[1], wanted = args.scalars[0];
  return wanted < boxes ? wanted : boxes;
}

// Picks one class's boxes; `candidates` has room for all. Returns how many are picked, best first in `picked`.
struct ClassPicker {
  const KernelArgs& args;
  int64_t batch, class_index;
  int64_t *candidates, *picked;

  float score(int64_t box) const {
    const TensorView& scores = args.inputs[1];
    return load<float>(scores, batch * scores.strides[0] + class_index * scores.strides[1] + box * scores.strides[2]);
  }

  int64_t pick() const {
    const TensorView& boxes = args.inputs[0];
    const bool center = args.params_as<NonMaxSuppressionParams>().center_point_box != 0;
    const float least_score = threshold(args, 3, -__builtin_inff()), most_overlap = threshold(args, 2, 0);
    int64_t count = 0, kept = 0;
    for (int64_t box = 0; box < boxes.dims[1]; ++box) {
      if (score(box) > least_score) candidates[count++] = box;
    }
    heap_sort(candidates, count,
              [&](int64_t a, int64_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    for (int64_t i = 0; i < count && kept < most_per_class(args); ++i) {
      const Corners box = corners_of(boxes, batch, candidates[i], center);
      bool suppressed = false;
      for (int64_t j = 0; j < kept && !suppressed; ++j) {
        suppressed = overlap(box, corners_of(boxes, batch, picked[j], center)) > most_overlap;
      }
      if (!suppressed) picked[kept++] = candidates[i];
    }
    return kept;
  }
};

}  // namespace

Status validate_non_max_suppression(const KernelArgs& args) {
  PW_RETURN_IF_ERROR(validate_common(args));
  const TensorView &boxes = args.inputs[0], &scores = args.inputs[1];
  PW_REQUIRE(boxes.rank == 3 && boxes.dims[2] == 4 && scores.rank == 3 && boxes.dims[0] == scores.dims[0] &&
                 boxes.dims[1] == scores.dims[2],
             "NonMaxSuppression: boxes must be [batch, n, 4], scores [batch, classes, n]");
  for (int i = 0; i < args.core_inputs; ++i) {
    if (args.inputs[i].absent) continue;
    PW_REQUIRE(is_float(args.inputs[i].dtype) && (i < 2 || element_count(args.inputs[i]) == 1),
               "NonMaxSuppression: input %d must be floating-point%s", i, i < 2 ? "" : " and one element");
  }
  PW_REQUIRE(args.scalars[0] >= 0, "NonMaxSuppression: at most %ld boxes of a class", args.scalars[0]);
  for (int i = 0; i < 2; ++i) PW_REQUIRE(args.outputs[i].dtype == DType::kI64, "NonMaxSuppression: output %d", i);
  const int64_t dims[] = {boxes.dims[0] * scores.dims[1] * most_per_class(args), 3}, one = 1;
  PW_RETURN_IF_ERROR(require_dims(args, 0, dims, 2));
  return require_dims(args, 1, &one, 1);
}

size_t non_max_suppression_workspace(const KernelArgs& args) {
  return 2 * sizeof(int64_t) * static_cast<size_t>(args.inputs[0].dims[1]);
}
size_t non_max_suppression_scratch(const KernelArgs&) { return 0; }

Status run_non_max_suppression(const KernelArgs& args) {
  const TensorView &scores = args.inputs[1], &rows = args.outputs[0];
  auto* candidates = reinterpret_cast<int64_t*>(args.workspace);
  int64_t *picked = candidates + args.inputs[0].dims[1], row = 0;
  for (int64_t batch = 0; batch < scores.dims[0]; ++batch) {
    for (int64_t class_index = 0; class_index < scores.dims[1]; ++class_index) {
      const int64_t count = ClassPicker{args, batch, class_index, candidates, picked}.pick();
      for (int64_t i = 0; i < count; ++i, ++row) {
        const int64_t triple[] = {batch, class_index, picked[i]};
        for (int64_t k = 0; k < 3; ++k) store(rows, row * rows.strides[0] + k * rows.strides[1], triple[k]);
      }
    }
  }
  store(args.outputs[1], 0, row);
  return kOkStatus;
}

}  // namespace planwright::reference
