#include "tactics/kernels/fast/attention.h"

#include "schemas/types/checked.h"
#include "tactics/kernels/fast/flush_denormals.h"
#include "tactics/kernels/registry.h"

namespace planwright::fast {
namespace {

// A task is worth starting on another core from about this many floating point operations on (split_gemm).
constexpr double kTaskFlops = 1e6;

struct Heads {
  int64_t batch, heads, key_heads, queries, keys, depth, values;
  PanelPlan k_panels, v_panels;

  // Floats of one key head's packed K and V, whole cache lines.
  int64_t k_floats() const { return lines(depth * k_panels.padded_columns()); }
  int64_t v_floats() const { return lines(keys * v_panels.padded_columns()); }

 private:
  static int64_t lines(int64_t floats) { return (floats + 15) / 16 * 16; }
};

Heads heads_of(const KernelArgs& args, const GemmShape& shape) {
  const TensorView &q = args.inputs[0], &k = args.inputs[1], &v = args.inputs[2];
  return {.batch = q.dims[0],
          .heads = q.dims[1],
          .key_heads = k.dims[1],
          .queries = q.dims[2],
          .keys = k.dims[2],
          .depth = q.dims[3],
          .values = v.dims[3],
          .k_panels = {k.dims[2], shape.tier->lanes, shape.vectors},
          .v_panels = {v.dims[3], shape.tier->lanes, shape.vectors}};
}

const TensorView* mask_of(const KernelArgs& args) {
  return args.core_inputs > 3 && !args.inputs[3].absent ? &args.inputs[3] : nullptr;
}

// A worker's scratch: a tile of scores, a tile of results, one row of a mask whose elements are apart.
struct Scratch {
  size_t scores, results, mask;  // bytes

  size_t total() const { return scores + results + mask; }
};
Scratch scratch_of(const Heads& heads, const GemmShape& shape) {
  const auto padded = static_cast<size_t>(heads.k_panels.padded_columns());
  const auto rows = static_cast<size_t>(shape.rows);
  return {align_up(rows * padded * sizeof(float), 64),
          align_up(rows * static_cast<size_t>(shape.vectors * shape.tier->lanes) * sizeof(float), 64),
          align_up(padded * sizeof(float), 64)};
}

class Attention {
 public:
  Attention(const KernelArgs& args, const GemmShape& shape, const AttentionTier& tier)
      : args_(args),
        shape_(shape),
        tier_(tier),
        heads_(heads_of(args, shape)),
        params_(args.params_as<AttentionParams>()),
        mask_(mask_of(args)),
        packed_(reinterpret_cast<float*>(args.workspace)) {
    if (mask_ == nullptr) return;
    TensorView scores;
    scores.rank = 4;
    broadcast_strides(*mask_, scores, mask_strides_);
  }

  void run() {
    pack();
    const int64_t tiles = row_tiles(heads_.queries, shape_.rows);
    const double tile_flops =
        2.0 * shape_.rows * static_cast<double>(heads_.keys) * static_cast<double>(heads_.depth + heads_.values + 1);
    const double wanted = kTaskFlops / (tile_flops + 1.0);
    int64_t per_task = args_.tactic.v[0] > 0 ? args_.tactic.v[0] : wanted < 64 ? static_cast<int64_t>(wanted) + 1 : 64;
    if (per_task > tiles) per_task = tiles > 0 ? tiles : 1;
    const int64_t row_tasks = tiles == 0 ? 0 : (tiles - 1) / per_task + 1;
    parallel_sums(*args_.executor, heads_.batch * heads_.heads * row_tasks, [&](int64_t task, int worker) {
      const int64_t head = task / row_tasks % heads_.heads, batch = task / row_tasks / heads_.heads;
      const int64_t first = task % row_tasks * per_task;
      const int64_t last = first + per_task < tiles ? first + per_task : tiles;
      for (int64_t tile = first; tile < last; ++tile) {
        const int64_t row = tile * shape_.rows, left = heads_.queries - row;
        run_tile(batch, head, row, static_cast<int>(left < shape_.rows ? left : shape_.rows),
                 args_.scratch + static_cast<size_t>(worker) * args_.scratch_stride);
      }
    });
  }

 private:
  // K as [depth][keys] and V as [keys][values].
  void pack() {
    const TensorView &k = args_.inputs[1], &v = args_.inputs[2];
    const int64_t panels = heads_.k_panels.count() + heads_.v_panels.count();
    parallel_for(*args_.executor, heads_.batch * heads_.key_heads * panels, [&](int64_t task, int) {
      const int64_t pair = task / panels, panel = task % panels;
      const int64_t batch = pair / heads_.key_heads, head = pair % heads_.key_heads;
      float* to = packed_ + pair * (heads_.k_floats() + heads_.v_floats());
      if (panel < heads_.k_panels.count()) {
        pack_panel(heads_.k_panels, panel, heads_.depth, 0, heads_.depth,
                   k.as<const float>() + batch * k.strides[0] + head * k.strides[1], k.strides[3], k.strides[2], to);
      } else {
        pack_panel(heads_.v_panels, panel - heads_.k_panels.count(), heads_.keys, 0, heads_.keys,
                   v.as<const float>() + batch * v.strides[0] + head * v.strides[1], v.strides[2], v.strides[3],
                   to + heads_.k_floats());
      }
    });
  }

  // One product of a tile: rows of A through pointers, the panel's sums to `to`, `to_pitch` apart.
  void multiply(const PanelPlan& plan, int64_t panel, const float* packed, int64_t packed_depth, int64_t depth,
                const float* const* rows, int count, float* to, int64_t to_pitch) const {
    float* out[kMaxTileRows];
    for (int r = 0; r < count; ++r) out[r] = to + r * to_pitch;
    GemmTile tile = {};
    tile.rows = rows;
    tile.taps = 1;
    tile.depth = depth;
    tile.panel = packed + packed_depth * plan.column(panel);
    tile.panel_step = static_cast<int64_t>(plan.vectors(panel)) * shape_.tier->lanes;
    tile.out = out;
    tile.valid = shape_.tier->lanes;
    shape_.tier->kernels[count][plan.vectors(panel)](tile);
  }

  void run_tile(int64_t batch, int64_t head, int64_t first, int rows, std::byte* scratch) const {
    const TensorView &q = args_.inputs[0], &y = args_.outputs[0];
    const Scratch sizes = scratch_of(heads_, shape_);
    auto* scores = reinterpret_cast<float*>(scratch);
    auto* results = reinterpret_cast<float*>(scratch + sizes.scores);
    auto* mask_row = reinterpret_cast<float*>(scratch + sizes.scores + sizes.results);
    const int64_t pitch = heads_.k_panels.padded_columns();
    const int64_t pair = batch * heads_.key_heads + head / (heads_.heads / heads_.key_heads);
    const float* packed_k = packed_ + pair * (heads_.k_floats() + heads_.v_floats());
    const float* packed_v = packed_k + heads_.k_floats();
    // The keys that any row of the tile sees.
    const int64_t keys = keys_of(first + rows - 1);

    const float* queries[kMaxTileRows];
    for (int r = 0; r < rows; ++r) {
      queries[r] = q.as<const float>() + batch * q.strides[0] + head * q.strides[1] + (first + r) * q.strides[2];
    }
    for (int64_t panel = 0; panel < heads_.k_panels.count() && heads_.k_panels.column(panel) < keys; ++panel) {
      multiply(heads_.k_panels, panel, packed_k, heads_.depth, heads_.depth, queries, rows,
               scores + heads_.k_panels.column(panel), pitch);
    }

    float factors[kMaxTileRows];
    const float* weights[kMaxTileRows];
    for (int r = 0; r < rows; ++r) {
      float* row = scores + r * pitch;
      weights[r] = row;
      const int64_t seen = keys_of(first + r);
      const float* mask = mask_of_row(batch, head, first + r, seen, mask_row);
      // Of no keys the result is 0.
      const float sum = seen == 0 ? 1.0f : tier_.softmax_row(row, seen, params_.scale, params_.softcap, mask);
      const bool is_zero = params_.zero_nan != 0 && sum != sum;
      factors[r] = is_zero ? 1.0f : 1.0f / sum;
      for (int64_t t = is_zero ? 0 : seen; t < keys; ++t) row[t] = 0.0f;
    }

    float* out[kMaxTileRows];
    for (int r = 0; r < rows; ++r) {
      out[r] = y.as<float>() + batch * y.strides[0] + head * y.strides[1] + (first + r) * y.strides[2];
    }
    for (int64_t panel = 0; panel < heads_.v_panels.count(); ++panel) {
      const int64_t width = static_cast<int64_t>(heads_.v_panels.vectors(panel)) * shape_.tier->lanes;
      multiply(heads_.v_panels, panel, packed_v, heads_.keys, keys, weights, rows, results, width);
      tier_.scale_tile(results, width, rows, heads_.v_panels.columns(panel), factors, out,
                       heads_.v_panels.column(panel));
    }
  }

  int64_t keys_of(int64_t query) const { return params_.causal != 0 && query < heads_.keys ? query + 1 : heads_.keys; }

  // The first `count` elements of a mask row, contiguous.
  const float* mask_of_row(int64_t batch, int64_t head, int64_t query, int64_t count, float* copy) const {
    if (mask_ == nullptr) return nullptr;
    const float* row =
        mask_->as<const float>() + batch * mask_strides_[0] + head * mask_strides_[1] + query * mask_strides_[2];
    const int64_t stride = mask_strides_[3];
    if (stride == 1) return row;
    for (int64_t t = 0; t < count; ++t) copy[t] = row[t * stride];
    return copy;
  }

  const KernelArgs& args_;
  const GemmShape& shape_;
  const AttentionTier& tier_;
  const Heads heads_;
  const AttentionParams& params_;
  const TensorView* mask_;
  int64_t mask_strides_[kMaxRank] = {};
  float* packed_;  // for each batch and key head: K, V
};

}  // namespace

Status validate_attention(const KernelArgs& args, const GemmShape& shape) {
  PW_RETURN_IF_ERROR(reference_kernel(OpKind::kAttention).validate(args));
  const TensorView &q = args.inputs[0], &y = args.outputs[0];
  for (int i = 0; i < args.core_inputs; ++i) {
    if (!args.inputs[i].absent && args.inputs[i].dtype != DType::kF32) {
      return error(StatusCode::kUnsupported, "input %d is %s, the kernel reads fp32", i, name_of(args.inputs[i].dtype));
    }
  }
  if (y.dtype != DType::kF32) {
    return error(StatusCode::kUnsupported, "the output is %s, the kernel writes fp32", name_of(y.dtype));
  }
  if ((q.dims[3] > 1 && q.strides[3] != 1) || (y.dims[3] > 1 && y.strides[3] != 1)) {
    return error(StatusCode::kUnsupported, "the rows of Q or of the output are not contiguous");
  }
  if (args.tactic.v[0] < 0) return error(StatusCode::kInvalid, "tactic of %d row tiles a task", args.tactic.v[0]);
  const Heads heads = heads_of(args, shape);
  // One key head is far below the limit where all of them, with room for alignment, pass.
  int64_t pairs;
  size_t k_bytes, v_bytes, total;
  if (!checked_mul(heads.batch, heads.key_heads, &pairs) ||
      !packed_bytes(heads.k_panels, heads.depth + 16, pairs + 1, &k_bytes) ||
      !packed_bytes(heads.v_panels, heads.keys + 16, pairs + 1, &v_bytes) || !checked_add(k_bytes, v_bytes, &total) ||
      total > SIZE_MAX / 4) {
    return error(StatusCode::kInvalid, "the packed keys and values are larger than memory can be");
  }
  return kOkStatus;
}

size_t attention_workspace_size(const KernelArgs& args, const GemmShape& shape) {
  const Heads heads = heads_of(args, shape);
  return static_cast<size_t>(heads.batch * heads.key_heads) * static_cast<size_t>(heads.k_floats() + heads.v_floats()) *
         sizeof(float);
}

size_t attention_scratch_size(const KernelArgs& args, const GemmShape& shape) {
  return scratch_of(heads_of(args, shape), shape).total();
}

Status run_attention(const KernelArgs& args, const GemmShape& shape, const AttentionTier& tier) {
  if (element_count(args.outputs[0]) == 0) return kOkStatus;
  Attention(args, shape, tier).run();
  return kOkStatus;
}

}  // namespace planwright::fast
