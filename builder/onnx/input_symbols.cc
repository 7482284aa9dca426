#include "builder/onnx/input_symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "builder/onnx/elements.h"
#include "builder/onnx/shape_check.h"
#include "schemas/types/error.h"

namespace planwright::builder::importer {
namespace {

// Where no profile says more.
constexpr int64_t kLargestDim = std::numeric_limits<int32_t>::max();
constexpr ir::Interval kAnyValue{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};

const ShapeRange* range_of_input(const Profile& profile, const std::string& name) {
  for (const ShapeRange& range : profile.inputs) {
    if (range.input == name) return &range;
  }
  return nullptr;
}

std::string bracketed(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

class InputBuilder {
 public:
  InputBuilder(ir::Graph& graph, const OnnxModel& model, const std::vector<Profile>& profiles)
      : graph_(graph), model_(model), profiles_(profiles) {}

  void add(int32_t index, bool is_shape_input) {
    const TensorDecl& decl = model_.inputs()[static_cast<size_t>(index)];
    check_profiles(decl);
    ir::Shape dims;
    const size_t rank = rank_of(decl);
    for (size_t axis = 0; axis < rank; ++axis) dims.push_back(dim(decl, index, axis));
    check_shape(dims, fmt::format("input '{}'", decl.name));
    ir::Value& value = graph_.add_value(decl.name, decl.dtype, std::move(dims));
    graph_.inputs.push_back(value.id);
    inputs.values.push_back(value.id);
    if (count_of(value) == 0) {
      inputs.values.back() = add_known(value, {});
    } else if (has_values(decl)) {
      check_values(decl, value);
      if (const auto known = known_values(decl)) {
        inputs.values.back() = add_known(value, *known);
      } else {
        add_values(value, index, [&](size_t element) { return value_range(decl, element); });
      }
    } else if (is_shape_input && decl.dtype == DType::kI64 && count_of(value) <= 2 * kMaxRank) {
      // The most a shape operand has: Pad's begin and end of every axis.
      add_values(value, index, [](size_t) { return kAnyValue; });
    }
  }

  ModelInputs inputs;

 private:
  size_t rank_of(const TensorDecl& decl) const {
    if (decl.has_shape) return decl.dims.size();
    for (const Profile& profile : profiles_) {
      if (const ShapeRange* range = range_of_input(profile, decl.name)) return range->min.size();
    }
    throw Error(StatusCode::kInvalid,
                fmt::format("input '{}' declares no shape; give one for it in every profile", decl.name));
  }

  void check_profiles(const TensorDecl& decl) const {
    for (const Profile& profile : profiles_) {
      const ShapeRange* range = range_of_input(profile, decl.name);
      if (range == nullptr) {
        if (decl.is_static()) continue;
        throw Error(StatusCode::kInvalid, fmt::format("a profile has no shapes for input '{}'", decl.name));
      }
      const size_t rank = decl.has_shape ? decl.dims.size() : range->min.size();
      for (const auto* dims : {&range->min, &range->opt, &range->max}) {
        bool fits = dims->size() == rank && rank <= kMaxRank;
        for (size_t i = 0; fits && i < rank; ++i) {
          fits = (*dims)[i] >= 0 && (!decl.has_shape || decl.dims[i] < 0 || decl.dims[i] == (*dims)[i]);
        }
        if (!fits) {
          throw Error(StatusCode::kInvalid, fmt::format("input '{}' is {} in the model, a profile gives it {}",
                                                        decl.name, bracketed(decl.dims), bracketed(*dims)));
        }
      }
      for (size_t i = 0; i < rank; ++i) {
        if (range->min[i] > range->opt[i] || range->opt[i] > range->max[i]) {
          throw Error(StatusCode::kInvalid,
                      fmt::format("input '{}': a profile's shapes {}, {}, {} are not min <= opt <= max at axis {}",
                                  decl.name, bracketed(range->min), bracketed(range->opt), bracketed(range->max), i));
        }
      }
    }
  }

  // What all profiles take together.
  ir::Interval profile_range(const TensorDecl& decl, size_t axis) const {
    if (profiles_.empty()) return {1, kLargestDim};
    ir::Interval all{std::numeric_limits<int64_t>::max(), 0};
    for (const Profile& profile : profiles_) {
      const ShapeRange& range = *range_of_input(profile, decl.name);
      all.min = std::min(all.min, range.min[axis]);
      all.max = std::max(all.max, range.max[axis]);
    }
    return all;
  }

  ir::Dim dim(const TensorDecl& decl, int32_t index, size_t axis) {
    if (decl.has_shape && decl.dims[axis] >= 0) return decl.dims[axis];
    const ir::Interval range = profile_range(decl, axis);
    const std::string name = decl.has_shape ? decl.dim_names[axis] : "";
    if (const auto found = inputs.named.find(name); !name.empty() && found != inputs.named.end()) {
      narrow(found->second, range, decl.name, name);
      return found->second;
    }
    ir::Symbol symbol;
    symbol.source = index;
    symbol.element = static_cast<int32_t>(axis);
    symbol.min = range.min;
    symbol.max = range.max;
    symbol.name = name.empty() ? fmt::format("{}.{}", decl.name, axis) : name;
    const ir::Dim made = range.min == range.max ? ir::Dim(range.min) : graph_.exprs().add_symbol(symbol);
    if (!name.empty()) inputs.named.emplace(name, made);
    return made;
  }

  // Two inputs share a dim: it can only be what both allow.
  void narrow(ir::Dim shared, ir::Interval range, const std::string& input, const std::string& name) {
    const ir::Interval known = ir::range_of(shared);
    const ir::Interval both{std::max(known.min, range.min), std::min(known.max, range.max)};
    if (both.min > both.max) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("input '{}' shares its dimension '{}' with an earlier input, but the profiles give it "
                              "{}..{} here and {}..{} there",
                              input, name, range.min, range.max, known.min, known.max));
    }
    if (shared.is_constant() || (both.min == known.min && both.max == known.max)) return;
    for (size_t i = 0; i < graph_.exprs().symbols().size(); ++i) {
      const int symbol = static_cast<int>(i);
      if (graph_.exprs().symbol(symbol) == shared) graph_.exprs().set_range(symbol, both.min, both.max);
    }
  }

  bool has_values(const TensorDecl& decl) const {
    return std::any_of(profiles_.begin(), profiles_.end(), [&](const Profile& profile) {
      const ShapeRange* range = range_of_input(profile, decl.name);
      return range != nullptr && !range->value_opt.empty();
    });
  }

  void check_values(const TensorDecl& decl, const ir::Value& value) const {
    const int64_t count = count_of(value);
    if (count > kMaxElements) {
      throw Error(StatusCode::kInvalid, fmt::format("a profile gives values for input '{}': that is for inputs of "
                                                    "constant dims and at most {} elements",
                                                    decl.name, kMaxElements));
    }
    if (!has_ranges(decl.dtype) && !known_values(decl)) {
      throw Error(StatusCode::kInvalid, fmt::format("a profile gives input '{}', which is {}, a range of values: only "
                                                    "int32 and int64 inputs may have one",
                                                    decl.name, name_of(decl.dtype)));
    }
    for (const Profile& profile : profiles_) {
      const ShapeRange& range = *range_of_input(profile, decl.name);
      for (const auto* values : {&range.value_min, &range.value_opt, &range.value_max}) {
        if (static_cast<int64_t>(values->size()) == count) continue;
        throw Error(StatusCode::kInvalid,
                    fmt::format("input '{}' has {} values; a profile gives it {}", decl.name, count, values->size()));
      }
      for (size_t i = 0; i < range.value_opt.size(); ++i) {
        if (range.value_min[i] <= range.value_opt[i] && range.value_opt[i] <= range.value_max[i]) continue;
        throw Error(StatusCode::kInvalid, fmt::format("input '{}': a profile's values {}, {}, {} are not min <= opt <= "
                                                      "max at element {}",
                                                      decl.name, bracketed(range.value_min), bracketed(range.value_opt),
                                                      bracketed(range.value_max), i));
      }
    }
  }

  // Elements of a tensor of constant dims; more than any shape input has for others.
  static int64_t count_of(const ir::Value& value) {
    int64_t count = 1;
    for (const ir::Dim& dim : value.dims) {
      if (!dim.is_constant() || dim.constant() > kMaxElements) return kMaxElements + 1;
      count = std::min(count * dim.constant(), kMaxElements + 1);
    }
    return count;
  }

  static bool has_ranges(DType dtype) { return dtype == DType::kI64 || dtype == DType::kI32; }

  // The values, where they are the same in all profiles.
  std::optional<std::vector<int64_t>> known_values(const TensorDecl& decl) const {
    const std::vector<int64_t>& first = range_of_input(profiles_.front(), decl.name)->value_opt;
    for (const Profile& profile : profiles_) {
      const ShapeRange& range = *range_of_input(profile, decl.name);
      if (range.value_min != first || range.value_opt != first || range.value_max != first) return std::nullopt;
    }
    return first;
  }

  ir::ValueId add_known(const ir::Value& input, const std::vector<int64_t>& values) {
    std::vector<int64_t> dims;
    for (const ir::Dim& dim : input.dims) dims.push_back(dim.constant());
    const size_t size = size_of(input.dtype);
    ir::Bytes data(values.size() * size);
    // Little-endian: the low bytes are the element.
    for (size_t i = 0; i < values.size(); ++i) std::memcpy(data.data() + i * size, &values[i], size);
    ir::Value& constant = graph_.add_constant(input.name, input.dtype, dims, std::move(data));
    attach_elements(constant);
    return constant.id;
  }

  ir::Interval value_range(const TensorDecl& decl, size_t element) const {
    ir::Interval all{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (const Profile& profile : profiles_) {
      const ShapeRange& range = *range_of_input(profile, decl.name);
      all.min = std::min(all.min, range.value_min[element]);
      all.max = std::max(all.max, range.value_max[element]);
    }
    return all;
  }

  template <typename RangeOf>
  void add_values(ir::Value& value, int32_t index, const RangeOf& range_of) {
    ir::Shape elements;
    for (int32_t element = 0; element < count_of(value); ++element) {
      const ir::Interval range = range_of(static_cast<size_t>(element));
      if (range.min == range.max) {
        elements.push_back(range.min);
        continue;
      }
      ir::Symbol symbol;
      symbol.origin = ir::SymbolOrigin::kInputValue;
      symbol.source = index;
      symbol.element = element;
      symbol.min = range.min;
      symbol.max = range.max;
      symbol.name = fmt::format("{}[{}]", value.name, element);
      elements.push_back(graph_.exprs().add_symbol(symbol));
    }
    value.elements = std::move(elements);
  }

  ir::Graph& graph_;
  const OnnxModel& model_;
  const std::vector<Profile>& profiles_;
};

}  // namespace

ModelInputs add_model_inputs(ir::Graph& graph, const OnnxModel& model, const std::vector<Profile>& profiles,
                             const std::unordered_set<std::string>& shape_inputs) {
  InputBuilder builder(graph, model, profiles);
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    if (!model.inputs()[i].unsupported.empty()) {
      builder.inputs.values.push_back(ir::kNone);
      continue;
    }
    builder.add(static_cast<int32_t>(i), shape_inputs.contains(model.inputs()[i].name));
  }
  return std::move(builder.inputs);
}

}  // namespace planwright::builder::importer
