// Which function imports which ONNX operator.
#ifndef PLANWRIGHT_BUILDER_ONNX_REGISTRY_H_
#define PLANWRIGHT_BUILDER_ONNX_REGISTRY_H_

#include <span>
#include <string>

#include "builder/onnx/node_context.h"

namespace planwright::builder::importer {

// Reads the node, emits core operators and sets its outputs; for every opset of the operator. Throws Refusal for what
// Planwright does not do, Error(kInvalid) for what cannot be right.
using ImportFunction = void (*)(NodeContext& node);

struct ImporterRow {
  const char* op;
  ImportFunction import;
  const char* domain = "";
};
using ImporterTable = std::span<const ImporterRow>;

// One table for each file of ops/, which are grouped as ONNX's documentation groups its operators.
ImporterTable generator_importers();
ImporterTable logic_importers();
ImporterTable math_importers();
ImporterTable activation_importers();
ImporterTable contraction_importers();
ImporterTable conv_importers();
ImporterTable pool_importers();
ImporterTable normalization_importers();
ImporterTable reduction_importers();
ImporterTable resize_importers();
ImporterTable shape_importers();
ImporterTable movement_importers();
ImporterTable selection_importers();
ImporterTable data_dependent_importers();
ImporterTable quantization_importers();
ImporterTable recurrent_importers();
ImporterTable einsum_importers();
ImporterTable microsoft_importers();
ImporterTable microsoft_attention_importers();
ImporterTable microsoft_grouped_attention_importers();
ImporterTable microsoft_quantized_importers();
ImporterTable microsoft_low_bits_importers();
ImporterTable ml_feature_importers();
ImporterTable ml_linear_importers();
ImporterTable ml_tree_importers();
ImporterTable ml_vector_importers();
ImporterTable sampling_importers();
ImporterTable signal_importers();
ImporterTable random_importers();
ImporterTable training_importers();
ImporterTable text_importers();

// The operator's importer; null if there is none.
ImportFunction find_importer(const std::string& domain, const std::string& op);

}  // namespace planwright::builder::importer

#endif  // PLANWRIGHT_BUILDER_ONNX_REGISTRY_H_
