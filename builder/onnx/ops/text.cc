// TfIdfVectorizer of integers.
#include <fmt/format.h>

#include <algorithm>

#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

using P = ProgramBuilder;

// The n-grams of one length n.
struct Grams {
  int64_t length = 1;
  std::vector<int64_t> pool;  // n numbers each
  int64_t count() const { return static_cast<int64_t>(pool.size()) / length; }
};

// Each more is a pass over the rows.
constexpr int64_t kMostSkips = 256;

// A program loads two operands a number of a gram.
constexpr int64_t kLongestGram = kMaxPwOperands / 2;

std::vector<Grams> read_pool(const NodeContext& node) {
  if (!node.get_strings("pool_strings").empty()) node.unsupported("a pool of strings; encode them before the model");
  const std::vector<int64_t> pool = node.get_ints("pool_int64s"), starts = node.get_ints("ngram_counts");
  node.require(!pool.empty() && !starts.empty(), "its pool is empty");
  std::vector<Grams> all;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto size = static_cast<int64_t>(pool.size());
    const int64_t begin = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : size;
    const auto length = static_cast<int64_t>(i) + 1;
    node.require(begin >= 0 && begin <= end && end <= size && (end - begin) % length == 0,
                 fmt::format("its {}-grams are not in [{}, {}) of {} numbers", length, begin, end, size));
    all.push_back({length, {pool.begin() + begin, pool.begin() + end}});
  }
  return all;
}

// How often each gram stands in each row of x, [N, C], where its numbers lie `step` apart: float [N, count].
ValueId occurrences(NodeContext& node, ValueId x, const Grams& grams, int64_t step) {
  const Dim places = node.dims(x)[1] - (grams.length - 1) * step;
  P program;
  std::vector<ValueId> operands;
  std::optional<Reg> all;
  for (int64_t i = 0; i < grams.length; ++i) {
    std::vector<int64_t> column;
    for (int64_t gram = 0; gram < grams.count(); ++gram)
      column.push_back(grams.pool[static_cast<size_t>(gram * grams.length + i)]);
    operands.push_back(node.unsqueeze(node.slice(x, 1, i * step, places), 2));
    operands.push_back(node.ints(column));
    const Reg left = program.load(DType::kI64);
    const Reg same = program.apply(PwOp::kEqual, left, program.load(DType::kI64));
    all = all ? program.apply(PwOp::kAnd, *all, same) : same;
  }
  program.store(*all, DType::kF32);
  const ValueId found = node.pointwise(program, std::move(operands), DType::kF32);
  return node.squeeze(node.reduce(ReduceKind::kSum, found, 2), 2);
}

// Counts of one length of grams, with up to `skips` numbers left out between two; kNone where no row is long enough.
ValueId count_grams(NodeContext& node, ValueId x, const Grams& grams, int64_t skips) {
  ValueId total = ir::kNone;
  const ir::Interval length = ir::range_of(node.dims(x)[1]);
  const int64_t gaps = grams.length - 1;
  const int64_t most =
      gaps == 0 ? 0 : std::min(skips, (length.max - 1) / gaps - 1);  // what the longest row has room for
  if (most > kMostSkips) {
    node.unsupported(fmt::format("n-grams with {} numbers left out; the most is {}", most, kMostSkips));
  }
  for (int64_t skip = 0; skip <= most; ++skip) {
    const int64_t reach = gaps * (skip + 1);
    if (length.max <= reach) break;
    if (length.min <= reach) node.unsupported("rows that may be shorter than an n-gram; give them a fixed length");
    const ValueId counts = occurrences(node, x, grams, skip + 1);
    total = total == ir::kNone ? counts : node.binary(PwOp::kAdd, total, counts);
  }
  return total;
}

void tf_idf_vectorizer(NodeContext& node) {
  const std::vector<Grams> pool = read_pool(node);
  const std::vector<int64_t> columns = node.get_ints("ngram_indexes");
  const std::vector<float> weights = node.get_floats("weights");
  const int64_t shortest = node.get_int("min_gram_length"), longest = node.get_int("max_gram_length");
  const int64_t skips = node.get_int("max_skip_count");
  const std::string mode = node.get_string("mode");
  node.require(mode == "TF" || mode == "IDF" || mode == "TFIDF", fmt::format("mode '{}' is unknown", mode));
  node.require(shortest >= 1 && longest >= shortest && skips >= 0,
               fmt::format("n-grams of {} to {} with {} left out", shortest, longest, skips));
  int64_t grams = 0, last = 0;
  for (const Grams& list : pool) grams += list.count();
  node.require(grams > 0, "its pool has no n-grams");
  for (const int64_t column : columns) last = std::max(last, column);
  node.require(static_cast<int64_t>(columns.size()) == grams &&
                   std::all_of(columns.begin(), columns.end(), [](int64_t c) { return c >= 0; }),
               fmt::format("{} columns for {} n-grams", columns.size(), grams));
  node.require(weights.empty() || static_cast<int64_t>(weights.size()) == grams,
               fmt::format("{} weights for {} n-grams", weights.size(), grams));
  node.require(!is_float(node.in_type(0)), "its input must be of integers");
  node.require(node.in_rank(0) == 1 || node.in_rank(0) == 2,
               fmt::format("its input has {} axes, not 1 or 2", node.in_rank(0)));
  if (last >= (int64_t{1} << 26) / grams) node.unsupported(fmt::format("an output that has a column {}", last));
  const int64_t width = last + 1;
  const bool flat = node.in_rank(0) == 1;
  const ValueId x = node.cast(flat ? node.unsqueeze(node.in(0), 0) : node.in(0), DType::kI64);

  // The counts that are made, side by side, times a matrix that puts each into its column.
  std::vector<ValueId> parts;
  std::vector<std::pair<int64_t, double>> rows;
  size_t gram = 0;
  for (const Grams& list : pool) {
    const size_t first = gram;
    gram += static_cast<size_t>(list.count());
    if (list.length < shortest || list.length > longest || list.count() == 0) continue;
    if (list.length > kLongestGram)
      node.unsupported(fmt::format("n-grams of {}; the most is {}", list.length, kLongestGram));
    const ValueId counts = count_grams(node, x, list, skips);
    if (counts == ir::kNone) continue;
    parts.push_back(counts);
    for (size_t i = first; i < gram; ++i) {
      const bool weighted = mode != "TF" && !weights.empty();
      rows.emplace_back(columns[i], weighted ? static_cast<double>(weights[i]) : 1.0);
    }
  }
  ValueId y = ir::kNone;
  const Dim batch = node.dims(x)[0];
  if (parts.empty()) {
    y = node.fill(DType::kF32, {batch, width}, 0);
  } else {
    ValueId counts = node.concat(std::move(parts), 1);
    if (mode == "IDF") {
      counts =
          map(node, counts, DType::kF32, [](P& p, Reg n) { return p.apply(PwOp::kLess, p.constant(n.type, 0), n); });
    }
    ir::Bytes matrix(rows.size() * static_cast<size_t>(width) * sizeof(float));
    for (size_t i = 0; i < rows.size(); ++i) {
      const ir::Bytes weight = element_bytes(DType::kF32, rows[i].second);
      const size_t at = i * static_cast<size_t>(width) + static_cast<size_t>(rows[i].first);
      std::copy(weight.begin(), weight.end(), matrix.begin() + static_cast<ptrdiff_t>(at * sizeof(float)));
    }
    y = node.matmul(counts, node.constant(DType::kF32, {static_cast<int64_t>(rows.size()), width}, std::move(matrix)));
  }
  node.set(0, flat ? node.reshape(y, {width}) : y);
}

constexpr ImporterRow kRows[] = {{"TfIdfVectorizer", tf_idf_vectorizer}};

}  // namespace

ImporterTable text_importers() { return kRows; }

}  // namespace planwright::builder::importer
