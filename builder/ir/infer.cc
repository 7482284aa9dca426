#include "builder/ir/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/types/error.h"

namespace planwright::ir {
namespace {

using Dims = std::vector<std::optional<Shape>>;

class Inference {
 public:
  Inference(const Graph& graph, const Node& node, std::vector<Guard>* guards)
      : graph_(graph), node_(node), guards_(guards) {}

  Dims run() {
    const Arity arity = arity_of(node_.kind);
    require(static_cast<int>(node_.inputs.size()) >= arity.min_inputs, "an operand is missing");
    for (int i = 0; i < arity.min_inputs; ++i) require(has(i), fmt::format("operand {} is missing", i));
    switch (node_.kind) {
      case OpKind::kPointwise: return pointwise();
      case OpKind::kMatMul: return {matmul()};
      case OpKind::kConv: return conv();
      case OpKind::kConvTranspose: return conv_transpose();
      case OpKind::kAttention: return {attention()};
      case OpKind::kPool: return pool();
      case OpKind::kReduce: return {reduce(node_.as<ReduceParams>().axes)};
      case OpKind::kArgReduce: return {reduce(1u << axis(node_.as<ArgReduceParams>().axis))};
      case OpKind::kSoftmax: return like_input_along(node_.as<SoftmaxParams>().axis);
      case OpKind::kLayerNorm: return layer_norm();
      case OpKind::kGroupNorm: return group_norm();
      case OpKind::kLrn: return like_input(2);
      case OpKind::kCumulative: return like_input_along(node_.as<CumulativeParams>().axis);
      case OpKind::kGather: return {gather()};
      case OpKind::kGatherElements: return {gather_elements()};
      case OpKind::kGatherND: return {gather_nd()};
      case OpKind::kScatterElements: return scatter_elements();
      case OpKind::kScatterND: return like_input(1);
      case OpKind::kTopK: axis(node_.as<TopKParams>().axis); return open();
      case OpKind::kOneHot: axis(node_.as<OneHotParams>().axis, dims(0).size() + 1); return open();
      case OpKind::kTrilu: return like_input(2);
      case OpKind::kTranspose: return {transpose()};
      case OpKind::kConcat: return {concat()};
      case OpKind::kCopy:
      case OpKind::kBitCast:
      case OpKind::kReadValues: return like_input();
      case OpKind::kReverseSequence: return like_input(2);
      case OpKind::kRnn: return rnn();
      case OpKind::kTreeEnsemble: return {tree_ensemble()};
      case OpKind::kGridSample: return {grid_sample()};
      case OpKind::kRoiAlign: return {roi_align()};
      case OpKind::kDeformConv: return deform_conv();
      case OpKind::kDet: return {det()};
      case OpKind::kPairCoupling: return {pair_coupling()};
      case OpKind::kBlockMatMul: return {block_matmul()};
      case OpKind::kRandom:
      case OpKind::kResize:
      case OpKind::kReshape:
      case OpKind::kSlice:
      case OpKind::kExpand:
      case OpKind::kPad:
      case OpKind::kTile:
      case OpKind::kFill:
      case OpKind::kRange:
      case OpKind::kShapeValues:
      case OpKind::kIf:
      case OpKind::kLoop:
      case OpKind::kNonZero:
      case OpKind::kUnique:
      case OpKind::kNonMaxSuppression:
      case OpKind::kCustom: return open();
    }
    return open();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(StatusCode::kInvalid, fmt::format("{} ({}): {}", node_.name, name_of(node_.kind), what));
  }
  void require(bool holds, const std::string& what) const {
    if (!holds) fail(what);
  }

  bool has(int input) const {
    return static_cast<size_t>(input) < node_.inputs.size() && node_.inputs[static_cast<size_t>(input)] != kNone;
  }
  const Shape& dims(int input) const { return graph_.value(node_.inputs[static_cast<size_t>(input)]).dims; }

  Dims open() const { return Dims(node_.outputs.size()); }

  int axis(int axis) const { return this->axis(axis, dims(0).size()); }
  int axis(int axis, size_t rank) const {
    require(axis >= 0 && static_cast<size_t>(axis) < rank, fmt::format("axis {} is not in rank {}", axis, rank));
    return axis;
  }
  void require_rank(int input, size_t least) const {
    require(dims(input).size() >= least,
            fmt::format("operand {} has shape {}, it needs {} axes or more", input, to_string(dims(input)), least));
  }

  // Two dims that must be equal; the guard when that is not proven.
  void match(Dim a, Dim b, const std::string& what) const {
    if (proven_equal(a, b)) return;
    if (proven_different(a, b)) fail(fmt::format("{}: {} and {} differ", what, to_string(a), to_string(b)));
    guards_->push_back({true, a, b, node_.name, what});
  }

  // Output dims like those of the first input, which has `least_rank` axes or more.
  Dims like_input(size_t least_rank = 0) const {
    require_rank(0, least_rank);
    return {dims(0)};
  }
  // The same for an operator along an axis.
  Dims like_input_along(int at) const {
    axis(at);
    return {dims(0)};
  }

  Dims pointwise() const {
    if (node_.inputs.empty()) return open();
    std::vector<Shape> shapes;
    for (ValueId input : node_.inputs) shapes.push_back(graph_.value(input).dims);
    return Dims(node_.outputs.size(), broadcast_shapes(shapes, node_.name, guards_));
  }

  Shape matmul() const {
    require_rank(0, 2);
    require_rank(1, 2);
    const Shape &a = dims(0), &b = dims(1);
    match(a.back(), b[b.size() - 2], "the product's inner dims");
    Shape out = broadcast_shapes({Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)}, node_.name, guards_);
    out.push_back(a[a.size() - 2]);
    out.push_back(b.back());
    return out;
  }

  Shape block_matmul() const {
    require_rank(0, 2);
    const int64_t block = node_.as<BlockMatMulParams>().block;
    require(block >= 1, fmt::format("a block of {} rows", block));
    require(dims(1).size() == 2 && dims(2).size() == 2, "its weights and scales must be matrices");
    match(dims(0).back(), dims(1)[0], "the product's inner dims");
    match(dims(2)[0], ceil_div(dims(1)[0], block), "a scale for each block of rows");
    match(dims(2)[1], dims(1)[1], "a scale for each column");
    Shape out = dims(0);
    out.back() = dims(1)[1];
    return out;
  }

  // X and W of a convolution have `spatial` axes after the first two, and `group` divides both channel counts.
  void check_windows(int spatial, int group, const int32_t (&stride)[kMaxSpatial],
                     const int32_t (&dilation)[kMaxSpatial]) const {
    const auto rank = static_cast<size_t>(spatial) + 2;
    require(spatial >= 1 && spatial <= kMaxSpatial,
            fmt::format("{} spatial axes are not 1 to {}", spatial, kMaxSpatial));
    require(
        dims(0).size() == rank && dims(1).size() == rank,
        fmt::format("input {} and weights {} do not both have {} axes", to_string(dims(0)), to_string(dims(1)), rank));
    require(group >= 1, fmt::format("group is {}", group));
    for (int i = 0; i < spatial; ++i) {
      require(stride[i] >= 1 && dilation[i] >= 1, "strides and dilations must be positive");
    }
    for (Dim dim : dims(1)) require(range_of(dim).max >= 1, "the weights are empty");
    require(proven_divisible(dims(1)[0], group), fmt::format("{} channels in {} groups", to_string(dims(1)[0]), group));
  }

  Dims conv() const {
    const auto& params = node_.as<ConvParams>();
    check_windows(params.spatial, params.group, params.stride, params.dilation);
    match(dims(0)[1], dims(1)[1] * params.group, "the input's channels and the weights'");
    return open();
  }

  Dims conv_transpose() const {
    const auto& params = node_.as<ConvTransposeParams>();
    check_windows(params.spatial, params.group, params.stride, params.dilation);
    match(dims(0)[1], dims(1)[0], "the input's channels and the weights'");
    return open();
  }

  Shape attention() const {
    for (int i = 0; i < 3; ++i) require(dims(i).size() == 4, "queries, keys and values must have 4 axes");
    const Shape &q = dims(0), &k = dims(1), &v = dims(2);
    match(q[0], k[0], "batches of queries and keys");
    match(q[0], v[0], "batches of queries and values");
    match(k[1], v[1], "heads of keys and values");
    match(q[3], k[3], "sizes of queries and keys");
    match(k[2], v[2], "counts of keys and values");
    require(proven_divisible(q[1], k[1]), "the heads of keys do not divide those of queries");
    if (has(3)) broadcast_shapes({{q[0], q[1], q[2], k[2]}, dims(3)}, node_.name, guards_);
    return {q[0], q[1], q[2], v[3]};
  }

  Dims pool() const {
    const auto& params = node_.as<PoolParams>();
    require(params.spatial >= 1 && params.spatial <= kMaxSpatial &&
                dims(0).size() == static_cast<size_t>(params.spatial) + 2,
            fmt::format("{} spatial axes do not fit input {}", params.spatial, to_string(dims(0))));
    for (int i = 0; i < params.spatial; ++i) {
      require(params.kernel[i] >= 1 && params.stride[i] >= 1 && params.dilation[i] >= 1,
              "kernel, strides and dilations must be positive");
    }
    return open();
  }

  Shape reduce(uint32_t axes) const {
    Shape out = dims(0);
    require(axes >> out.size() == 0, fmt::format("an axis is not in rank {}", out.size()));
    for (size_t i = 0; i < out.size(); ++i) {
      if (axes >> i & 1) out[i] = 1;
    }
    return out;
  }

  Dims layer_norm() const {
    const auto& params = node_.as<LayerNormParams>();
    const int first = axis(params.axis);
    for (int i = 1; i < 3; ++i) {
      if (has(i)) require_broadcasts_to(i, dims(0));
    }
    Shape statistics = dims(0);
    std::fill(statistics.begin() + first, statistics.end(), Dim(1));
    Dims out(node_.outputs.size(), statistics);
    out[0] = dims(0);
    return out;
  }

  void require_broadcasts_to(int input, const Shape& target) const {
    const Shape joined = broadcast_shapes({target, dims(input)}, node_.name, guards_);
    require(joined.size() == target.size() && std::equal(joined.begin(), joined.end(), target.begin(), proven_equal),
            fmt::format("operand {} of shape {} does not broadcast to {}", input, to_string(dims(input)),
                        to_string(target)));
  }

  Dims group_norm() const {
    const auto& params = node_.as<GroupNormParams>();
    require_rank(0, 2);
    require(params.groups >= 1 && proven_divisible(dims(0)[1], params.groups),
            fmt::format("{} channels in {} groups", to_string(dims(0)[1]), params.groups));
    return {dims(0)};
  }

  Shape gather() const {
    const int at = axis(node_.as<GatherParams>().axis);
    Shape out(dims(0).begin(), dims(0).begin() + at);
    out.insert(out.end(), dims(1).begin(), dims(1).end());
    out.insert(out.end(), dims(0).begin() + at + 1, dims(0).end());
    return out;
  }

  Shape gather_elements() const {
    axis(node_.as<GatherElementsParams>().axis);
    require(dims(0).size() == dims(1).size(), "data and indices differ in rank");
    return dims(1);
  }

  Dims scatter_elements() const {
    axis(node_.as<ScatterElementsParams>().axis);
    require(dims(0).size() == dims(1).size() && dims(1).size() == dims(2).size(),
            "data, indices and updates differ in rank");
    for (size_t i = 0; i < dims(1).size(); ++i) match(dims(1)[i], dims(2)[i], "indices and updates");
    return {dims(0)};
  }

  Shape gather_nd() const {
    const int batch = node_.as<GatherNDParams>().batch_dims;
    const Shape &data = dims(0), &indices = dims(1);
    require(batch >= 0 && static_cast<size_t>(batch) < indices.size(), "batch_dims is not below the indices' rank");
    require(indices.back().is_constant(), "the indices' last dim must be constant");
    const auto taken =
        static_cast<size_t>(batch) + static_cast<size_t>(std::max<int64_t>(indices.back().constant(), 0));
    require(taken <= data.size(), "an index has more coordinates than the data has axes");
    for (int i = 0; i < batch; ++i) match(data[static_cast<size_t>(i)], indices[static_cast<size_t>(i)], "batch axes");
    Shape out(indices.begin(), indices.end() - 1);
    out.insert(out.end(), data.begin() + static_cast<ptrdiff_t>(taken), data.end());
    return out;
  }

  Shape transpose() const {
    const auto& params = node_.as<TransposeParams>();
    const size_t rank = dims(0).size();
    uint32_t seen = 0;
    Shape out;
    for (size_t i = 0; i < rank; ++i) {
      const int from = axis(params.perm[i]);
      require((seen >> from & 1) == 0, fmt::format("axis {} stands twice in the permutation", from));
      seen |= 1u << from;
      out.push_back(dims(0)[static_cast<size_t>(from)]);
    }
    return out;
  }

  Shape concat() const {
    const auto at = static_cast<size_t>(axis(node_.as<ConcatParams>().axis));
    Shape out = dims(0);
    for (size_t input = 1; input < node_.inputs.size(); ++input) {
      require(has(static_cast<int>(input)), fmt::format("operand {} is missing", input));
      const Shape& other = dims(static_cast<int>(input));
      require(other.size() == out.size(), "operands differ in rank");
      for (size_t i = 0; i < out.size(); ++i) {
        if (i == at) {
          out[i] = out[i] + other[i];
        } else {
          match(out[i], other[i], fmt::format("operands joined at axis {} in axis {}", at, i));
        }
      }
    }
    return out;
  }

  Dims rnn() const {
    const auto& params = node_.as<RnnParams>();
    for (const int input : {0, 1}) require_exact_rank(input, 3);
    const bool batch_first = params.batch_first != 0;
    const Dim steps = dims(0)[batch_first ? 1 : 0], batch = dims(0)[batch_first ? 0 : 1];
    const Dim directions = params.directions, hidden = params.hidden;
    match(dims(0)[2], directions * dims(1)[1], "the gates and the weights of the state");
    const Shape sequence =
        batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
    const Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    Dims out(node_.outputs.size(), state);
    out[0] = sequence;
    return out;
  }

  void require_exact_rank(int input, size_t rank) const {
    require(dims(input).size() == rank,
            fmt::format("operand {} has shape {}, it needs {} axes", input, to_string(dims(input)), rank));
  }

  Shape tree_ensemble() const {
    const auto& params = node_.as<TreeEnsembleParams>();
    for (const int input : {0, 2}) require_exact_rank(input, 2);
    for (const int input : {1, 3, 4, 5, 6}) require_exact_rank(input, 1);
    match(dims(2)[1], kTreeNodeColumns, "the numbers of a node");
    match(dims(5)[0], dims(6)[0], "votes and their weights");
    require(params.targets >= 1, fmt::format("{} targets", params.targets));
    return {dims(0)[0], params.targets};
  }

  Shape grid_sample() const {
    const Shape &x = dims(0), &grid = dims(1);
    require(x.size() >= 3 && x.size() <= kMaxSpatial + 2 && grid.size() == x.size(),
            fmt::format("a grid {} does not fit an image {}", to_string(grid), to_string(x)));
    match(x[0], grid[0], "batches of images and grids");
    match(grid.back(), x.size() - 2, "the coordinates of a point");
    Shape out{x[0], x[1]};
    out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
    return out;
  }

  Shape roi_align() const {
    const auto& params = node_.as<RoiAlignParams>();
    require_exact_rank(0, 4);
    require_exact_rank(1, 2);
    require_exact_rank(2, 1);
    match(dims(1)[1], 4, "the corners of a region");
    match(dims(1)[0], dims(2)[0], "regions and their batch indices");
    require(params.height >= 1 && params.width >= 1, fmt::format("{} x {} cells", params.height, params.width));
    return {dims(1)[0], dims(0)[1], params.height, params.width};
  }

  Dims deform_conv() const {
    const auto& params = node_.as<DeformConvParams>();
    for (int input = 0; input < 3; ++input) require_exact_rank(input, 4);
    if (has(3)) require_exact_rank(3, 4);
    require(params.group >= 1 && params.offset_group >= 1,
            fmt::format("{} groups, {} of offsets", params.group, params.offset_group));
    match(dims(0)[1], dims(1)[1] * params.group, "the input's channels and the weights'");
    require(proven_divisible(dims(1)[0], params.group) && proven_divisible(dims(0)[1], params.offset_group),
            "groups do not divide the channels");
    const Shape &x = dims(0), &w = dims(1), &offset = dims(2);
    const Dim points = w[2] * w[3] * params.offset_group;
    match(offset[0], x[0], "batches of images and offsets");
    match(offset[1], points * 2, "offsets of a point");
    if (has(3)) {
      match(dims(3)[0], x[0], "batches of images and masks");
      match(dims(3)[1], points, "masks of a point");
      for (const size_t i : {size_t{2}, size_t{3}}) match(dims(3)[i], offset[i], "offsets and masks");
    }
    return {Shape{x[0], w[0], offset[2], offset[3]}};
  }

  Shape det() const {
    require_rank(0, 2);
    const Shape& x = dims(0);
    match(x[x.size() - 2], x.back(), "the rows and columns of a matrix");
    return Shape(x.begin(), x.end() - 2);
  }

  Shape pair_coupling() const {
    const Shape& pairs = dims(0);
    require(pairs.size() == 2 && pairs[1].is_constant(), fmt::format("{} are no rows of pairs", to_string(pairs)));
    int64_t classes = 2;
    while (classes < kMaxCoupledClasses && classes * (classes - 1) / 2 < pairs[1].constant()) ++classes;
    require(Dim(classes * (classes - 1) / 2) == pairs[1], fmt::format("{} pairs of classes", to_string(pairs[1])));
    return {pairs[0], classes};
  }

  const Graph& graph_;
  const Node& node_;
  std::vector<Guard>* guards_;
};

}  // namespace

Shape broadcast_shapes(const std::vector<Shape>& shapes, const std::string& layer, std::vector<Guard>* guards) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape out(rank, Dim(1));
  for (size_t axis = 0; axis < rank; ++axis) {
    Dim& result = out[axis];
    for (const Shape& shape : shapes) {
      if (axis + shape.size() < rank) continue;
      const Dim dim = shape[axis + shape.size() - rank];
      if (dim == Dim(1) || dim == result) continue;
      if (result == Dim(1)) {
        result = dim;
      } else if (proven_different(dim, result)) {
        throw Error(StatusCode::kInvalid, fmt::format("{}: shapes {} and {} do not broadcast at axis {}", layer,
                                                      to_string(shapes[0]), to_string(shape), axis));
      } else {
        if (!proven_equal(dim, result)) {
          guards->push_back({true, result, dim, layer, fmt::format("operands meet at axis {}", axis)});
        }
        if (dim.is_constant()) result = dim;
      }
    }
  }
  return out;
}

bool may_broadcast(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const size_t shift = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (proven_different(from[i], Dim(1)) && proven_different(from[i], to[i + shift])) return false;
  }
  return true;
}

std::vector<std::optional<Shape>> infer_dims(const Graph& graph, const Node& node, std::vector<Guard>* guards) {
  Dims dims = Inference(graph, node, guards).run();
  dims.resize(node.outputs.size(), dims.empty() ? std::nullopt : dims.front());
  return dims;
}

std::vector<std::optional<DType>> infer_types(const Graph& graph, const Node& node) {
  std::vector<std::optional<DType>> types(node.outputs.size());
  const auto type_of = [&](size_t input) { return graph.value(node.inputs.at(input)).dtype; };
  switch (node.kind) {
    case OpKind::kPointwise:
    case OpKind::kTreeEnsemble:
    case OpKind::kRandom:
    case OpKind::kBitCast:
    case OpKind::kIf:
    case OpKind::kLoop:
    case OpKind::kCustom:
    case OpKind::kFill: return types;
    case OpKind::kMatMul:
    case OpKind::kBlockMatMul:
    case OpKind::kConv:
    case OpKind::kConvTranspose:
      // Integer products accumulate wider, and an epilogue stores what it likes.
      if (node.program.empty() && is_float(type_of(0))) types[0] = type_of(0);
      return types;
    case OpKind::kLayerNorm: types[0] = type_of(0); return types;
    case OpKind::kArgReduce:
    case OpKind::kShapeValues:
    case OpKind::kReadValues:
    case OpKind::kNonZero:
    case OpKind::kNonMaxSuppression: std::fill(types.begin(), types.end(), DType::kI64); return types;
    case OpKind::kPool:
    case OpKind::kTopK:
    case OpKind::kUnique:
      std::fill(types.begin(), types.end(), DType::kI64);
      types[0] = type_of(0);
      return types;
    case OpKind::kOneHot: types[0] = type_of(1); return types;
    default: break;
  }
  std::fill(types.begin(), types.end(), type_of(0));
  return types;
}

Dim window_output(Dim in, Dim pad_begin, Dim pad_end, int64_t kernel, int64_t stride, int64_t dilation, bool ceil) {
  const Dim reach = Dim(dilation) * (kernel - 1) + 1;
  const Dim room = in + pad_begin + pad_end - reach;
  if (!ceil) return floor_div(room, stride) + 1;
  return min(ceil_div(room, stride) + 1, ceil_div(in + pad_begin, stride));
}

}  // namespace planwright::ir
