#include "builder/onnx/import.h"

#include <fmt/format.h>

#include "builder/onnx/graph_importer.h"

namespace planwright::builder {

std::vector<Unsupported> find_unsupported(const OnnxModel& model, const std::vector<Profile>& profiles) {
  importer::GraphImporter importer(model, profiles);
  importer.run();
  return std::move(importer.unsupported());
}

ir::Graph import_model(const OnnxModel& model, const std::vector<Profile>& profiles) {
  importer::GraphImporter importer(model, profiles);
  importer.run();
  const std::vector<Unsupported>& unsupported = importer.unsupported();
  if (!unsupported.empty()) {
    std::string message = fmt::format("the model has {} node{} that Planwright does not support:", unsupported.size(),
                                      unsupported.size() == 1 ? "" : "s");
    for (const Unsupported& entry : unsupported) {
      message += fmt::format("\n  {} ({}, opset {}): {}", entry.node, entry.op, entry.opset, entry.reason);
    }
    throw Error(StatusCode::kUnsupported, message);
  }
  return std::move(importer.graph());
}

}  // namespace planwright::builder
