#include "builder/onnx/model.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <unordered_set>

#include "builder/onnx/external_data.h"
#include "builder/onnx/graph_check.h"
#include "builder/onnx/node_check.h"
#include "builder/onnx/sparse_tensor.h"
#include "builder/onnx/tensor_data.h"
#include "builder/onnx/type_advice.h"
#include "onnx/onnx_pb.h"
#include "schemas/types/error.h"

namespace planwright::builder {
namespace {

constexpr int64_t kMaxFileBytes = std::numeric_limits<int32_t>::max();  // what protobuf can hold
constexpr int kMaxMessageDepth = 100;

std::string read_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    throw Error(StatusCode::kIo, fmt::format("model {}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) throw Error(StatusCode::kIo, fmt::format("model {} is a directory", path));
  if (!S_ISREG(info.st_mode)) throw Error(StatusCode::kIo, fmt::format("model {} is not a plain file", path));
  if (info.st_size > kMaxFileBytes) {
    throw Error(StatusCode::kInvalid,
                fmt::format("model {} has {} bytes; protobuf holds at most 2 GiB: save it with external data", path,
                            info.st_size));
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(bytes.data(), info.st_size))
    throw Error(StatusCode::kIo, fmt::format("model {}: cannot read it", path));
  return bytes;
}

bool parse(const std::string& bytes, int depth, onnx::ModelProto* proto) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(static_cast<int>(kMaxFileBytes));
  stream.SetRecursionLimit(depth);
  return proto->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

onnx::ModelProto parse_model(const std::string& path) {
  const std::string bytes = read_file(path);
  if (bytes.empty()) throw Error(StatusCode::kInvalid, fmt::format("model {} is empty", path));
  onnx::ModelProto proto;
  if (parse(bytes, kMaxMessageDepth, &proto)) return proto;
  onnx::ModelProto deeper;
  const bool too_deep = parse(bytes, 10 * kMaxMessageDepth, &deeper);
  throw Error(StatusCode::kInvalid,
              too_deep ? fmt::format("model {} nests its protobuf messages more than {} deep", path, kMaxMessageDepth)
                       : fmt::format("model {} does not parse as an ONNX protobuf: it is truncated, corrupt, nested "
                                     "more than {} deep or something else",
                                     path, kMaxMessageDepth));
}

// Control characters as escapes, so that a message which names a node stays on its line and does not steer terminals.
std::string printable(const std::string& name) {
  std::string shown;
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= ' ' && code != 0x7F) {
      shown += c;
    } else {
      shown += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", code);
    }
  }
  return shown;
}

// What messages call the node. Its name means nothing to ONNX; an operator of such a name is none of ONNX's.
void make_printable(onnx::NodeProto& node) {
  std::string name = node.name();
  for (int i = 0; name.empty() && i < node.output_size(); ++i) name = node.output(i);
  if (const std::string shown = printable(name); shown != name) node.set_name(shown);
  node.set_op_type(printable(node.op_type()));
  node.set_domain(printable(node.domain()));
}

using TensorVisitor = std::function<void(onnx::TensorProto& tensor, const std::string& what)>;

void visit_graph(onnx::GraphProto& graph, const TensorVisitor& visit);

// Every tensor of the node's attributes, those of graphs among them included; gives all nodes names that can be shown.
void visit_node(onnx::NodeProto& node, const TensorVisitor& visit) {
  make_printable(node);
  const std::string owner = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    const std::string what = fmt::format("attribute '{}' of {} ({})", attribute.name(), owner, node.op_type());
    if (attribute.has_t()) visit(*attribute.mutable_t(), what);
    for (onnx::TensorProto& tensor : *attribute.mutable_tensors()) visit(tensor, what);
    if (attribute.has_sparse_tensor()) {
      visit(*attribute.mutable_sparse_tensor()->mutable_values(), what);
      visit(*attribute.mutable_sparse_tensor()->mutable_indices(), what);
    }
    if (attribute.has_g()) visit_graph(*attribute.mutable_g(), visit);
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) visit_graph(graph, visit);
  }
}

void visit_graph(onnx::GraphProto& graph, const TensorVisitor& visit) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    visit(tensor, fmt::format("initializer '{}'", tensor.name()));
  }
  for (onnx::SparseTensorProto& sparse : *graph.mutable_sparse_initializer()) {
    const std::string what = fmt::format("sparse initializer '{}'", sparse.values().name());
    visit(*sparse.mutable_values(), what);
    visit(*sparse.mutable_indices(), what);
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) visit_node(node, visit);
}

// From here on a sparse initializer is one as any other.
void expand_sparse_initializers(onnx::GraphProto& graph) {
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
    *graph.add_initializer() = dense_of(sparse, fmt::format("sparse initializer '{}'", sparse.values().name()));
  }
  graph.clear_sparse_initializer();
}

// "?", "", "-1": a name that names nothing, so that dims which bear it need not be the same.
bool names_something(const std::string& name) {
  const bool has_letter = std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  return has_letter && name != "None" && name != "unk" && name != "unknown";
}

TensorDecl declaration_of(const onnx::ValueInfoProto& info, const char* role) {
  TensorDecl decl;
  decl.name = decl.binding = info.name();
  if (!info.has_type() || info.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) {
    throw Error(StatusCode::kInvalid, fmt::format("{} '{}' has no type", role, info.name()));
  }
  if (!info.type().has_tensor_type()) {
    decl.unsupported = "it is no tensor but a sequence, map or optional; replace it by tensors";
    return decl;
  }
  const onnx::TypeProto::Tensor& type = info.type().tensor_type();
  if (type.elem_type() == onnx::TensorProto::UNDEFINED) {
    throw Error(StatusCode::kInvalid, fmt::format("{} '{}' has no element type", role, info.name()));
  }
  if (const auto dtype = dtype_of_onnx(type.elem_type())) {
    decl.dtype = *dtype;
  } else {
    decl.unsupported = fmt::format("its elements are {}, which is not supported{}", onnx_type_name(type.elem_type()),
                                   advice_on_type(type.elem_type()));
  }
  decl.has_shape = type.has_shape();
  if (type.shape().dim_size() > kMaxRank) {
    throw Error(StatusCode::kInvalid, fmt::format("{} '{}' has {} dimensions; the most is {}", role, info.name(),
                                                  type.shape().dim_size(), kMaxRank));
  }
  for (const onnx::TensorShapeProto::Dimension& dim : type.shape().dim()) {
    decl.dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
    decl.dim_names.push_back(names_something(dim.dim_param()) ? dim.dim_param() : "");
  }
  return decl;
}

void add_data_file(const onnx::TensorProto& tensor, const std::string& folder, std::vector<std::string>& files) {
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() != "location") continue;
    std::string path = folder + "/" + entry.value();
    if (std::find(files.begin(), files.end(), path) == files.end()) files.push_back(std::move(path));
  }
}

// A model may hand an input through as an output of the same name; an engine's bindings each have a name of their own.
void name_bindings(const std::vector<TensorDecl>& inputs, std::vector<TensorDecl>& outputs,
                   std::vector<std::string>* warnings) {
  std::unordered_set<std::string> taken, declared;
  for (const TensorDecl& input : inputs) taken.insert(input.name);
  for (const TensorDecl& output : outputs) declared.insert(output.name);
  for (TensorDecl& output : outputs) {
    if (!taken.contains(output.binding)) continue;
    do output.binding += ":out";
    while (taken.contains(output.binding) || declared.contains(output.binding));
    taken.insert(output.binding);
    warnings->push_back(fmt::format("output '{}' is also an input: the engine calls the output '{}', a copy of it",
                                    output.name, output.binding));
  }
}

// Operators of an operator set that is not known may mean anything.
void check_opset(const onnx::ModelProto& proto) {
  std::map<std::string, int64_t> versions;
  for (const onnx::OperatorSetIdProto& import : proto.opset_import()) {
    const std::string domain = importer::plain_domain(import.domain());
    const auto [known, is_new] = versions.emplace(domain, import.version());
    if (import.version() < 1 || (!is_new && known->second != import.version())) {
      throw Error(StatusCode::kInvalid,
                  fmt::format("the model imports opset {} of {}{}: export it anew", import.version(),
                              domain.empty() ? "ONNX" : domain,
                              is_new ? ", which does not exist" : fmt::format(" and {} as well", known->second)));
    }
    const int64_t newest = importer::newest_opset(domain);
    if (newest == 0 || import.version() <= newest) continue;
    throw Error(
        StatusCode::kUnsupported,
        fmt::format("the model uses opset {} of {}; the newest known is {}: export it for that opset, or convert "
                    "it with onnx.version_converter",
                    import.version(), domain.empty() ? "ONNX" : domain, newest));
  }
}

}  // namespace

bool TensorDecl::is_static() const {
  return has_shape && std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

OnnxModel::OnnxModel() : proto_(std::make_unique<onnx::ModelProto>()) {}
OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;
OnnxModel& OnnxModel::operator=(OnnxModel&&) noexcept = default;
OnnxModel::~OnnxModel() = default;

OnnxModel OnnxModel::load(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return from_proto(parse_model(path), folder.empty() ? "." : folder);
}

OnnxModel OnnxModel::from_proto(onnx::ModelProto proto, const std::string& folder) {
  OnnxModel model;
  *model.proto_ = std::move(proto);
  model.folder_ = folder;
  if (!model.proto_->has_graph()) throw Error(StatusCode::kInvalid, "the model has no graph: it is not an ONNX model");
  if (model.proto_->ir_version() > onnx::Version::IR_VERSION) {
    throw Error(StatusCode::kUnsupported, fmt::format("the model's IR version {} is newer than {}, the newest known",
                                                      model.proto_->ir_version(), onnx::Version::IR_VERSION));
  }
  if (model.proto_->ir_version() >= 3 && model.proto_->opset_import_size() == 0) {
    throw Error(StatusCode::kInvalid, "the model imports no operator set: it is truncated or was not saved as a whole");
  }
  check_opset(*model.proto_);
  onnx::GraphProto& graph = *model.proto_->mutable_graph();

  const TensorVisitor visit = [&](onnx::TensorProto& tensor, const std::string& what) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) add_data_file(tensor, folder, model.data_files_);
    read_external_data(tensor, folder, &model.warnings_);
    check_tensor(tensor, what);
    if (holds_nan(tensor)) model.warnings_.push_back(what + " holds NaN: what is computed from it will be NaN too");
  };
  visit_graph(graph, visit);
  expand_sparse_initializers(graph);
  check_and_sort(graph);
  for (onnx::FunctionProto& function : *model.proto_->mutable_functions()) {
    function.set_name(printable(function.name()));
    function.set_domain(printable(function.domain()));
    for (onnx::NodeProto& node : *function.mutable_node()) visit_node(node, visit);
    check_and_sort(function);
  }

  std::unordered_set<std::string> initialized;
  for (const onnx::TensorProto& tensor : graph.initializer()) initialized.insert(tensor.name());
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (!initialized.contains(input.name())) model.inputs_.push_back(declaration_of(input, "input"));
  }
  for (const onnx::ValueInfoProto& output : graph.output()) model.outputs_.push_back(declaration_of(output, "output"));
  name_bindings(model.inputs_, model.outputs_, &model.warnings_);
  return model;
}

}  // namespace planwright::builder
