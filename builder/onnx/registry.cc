#include "builder/onnx/registry.h"

#include <unordered_map>

namespace planwright::builder::importer {
namespace {

std::unordered_map<std::string, ImportFunction> make_index() {
  std::unordered_map<std::string, ImportFunction> index;
  for (const ImporterTable table : {generator_importers(),
                                    logic_importers(),
                                    math_importers(),
                                    activation_importers(),
                                    contraction_importers(),
                                    conv_importers(),
                                    pool_importers(),
                                    normalization_importers(),
                                    reduction_importers(),
                                    resize_importers(),
                                    shape_importers(),
                                    movement_importers(),
                                    selection_importers(),
                                    quantization_importers(),
                                    recurrent_importers(),
                                    einsum_importers(),
                                    data_dependent_importers(),
                                    microsoft_importers(),
                                    microsoft_attention_importers(),
                                    microsoft_grouped_attention_importers(),
                                    microsoft_quantized_importers(),
                                    microsoft_low_bits_importers(),
                                    ml_feature_importers(),
                                    ml_linear_importers(),
                                    ml_tree_importers(),
                                    ml_vector_importers(),
                                    sampling_importers(),
                                    signal_importers(),
                                    random_importers(),
                                    training_importers(),
                                    text_importers()}) {
    for (const ImporterRow& row : table) index.emplace(std::string(row.domain) + "::" + row.op, row.import);
  }
  return index;
}

}  // namespace

ImportFunction find_importer(const std::string& domain, const std::string& op) {
  static const std::unordered_map<std::string, ImportFunction> index = make_index();
  const auto found = index.find(domain + "::" + op);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace planwright::builder::importer
