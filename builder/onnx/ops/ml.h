// What importers of the domain ai.onnx.ml share.
#ifndef PLANWRIGHT_BUILDER_ONNX_OPS_ML_H_
#define PLANWRIGHT_BUILDER_ONNX_OPS_ML_H_

#include <vector>

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

inline constexpr const char* kMlDomain = "ai.onnx.ml";

enum class PostTransform { kNone = 0, kSoftmax, kLogistic, kSoftmaxZero, kProbit };  // TreeEnsemble's numbers
PostTransform post_transform_of(const NodeContext& node);                            // by its name
// Scores [N, C], transformed row by row.
ValueId transformed(NodeContext& node, ValueId scores, PostTransform post);

// What belongs to the only score of a model that tells two classes apart: [N, 1] becomes [N, 2].
enum class SecondScore {
  kComplement,  // 1 - s, s
  kOpposite,    // -s, s
  kZero,        // 0, s
};
// Where `post` is the logistic function: logistic(-s), logistic(s) in the first two cases, where other transforms are not
// applied; in the last one all are.
ValueId with_second_score(NodeContext& node, ValueId score, SecondScore second, PostTransform post);

// The node's input as rows of numbers of type `to`: a vector is one row.
ValueId rows_of(NodeContext& node, int input, DType to);
int64_t constant_columns(const NodeContext& node, ValueId rows);

// Constants.
ValueId numbers_of(NodeContext& node, DType dtype, const std::vector<double>& values);  // [values]
ValueId floats(NodeContext& node, const std::vector<float>& values, std::vector<int64_t> dims);

// Rows of x times the transposed coefficients, [outputs, features], plus one number an output.
ValueId linear(NodeContext& node, ValueId x, const std::vector<float>& coefficients, int64_t outputs,
               const std::vector<float>& intercepts);

// The integer labels of a classifier; of names their places. Sets output 0 to labels[index], index int64 [N], which of
// names is text that nothing can read.
std::vector<int64_t> class_labels(const NodeContext& node, const char* attribute);
void set_labels(NodeContext& node, ValueId index, const std::vector<int64_t>& labels);
ValueId arg_max(NodeContext& node, ValueId scores);  // [N, C] -> int64 [N]
// 1 where column 0 of `scores` is above the threshold, else 0: int64 [N].
ValueId is_above(NodeContext& node, ValueId scores, double threshold);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_OPS_ML_H_
