// Comparisons, logic and choice.
#include "builder/onnx/ops/common.h"
#include "builder/onnx/registry.h"

namespace planwright::builder::importer {
namespace {

// `swap` exchanges the operands: a > b is b < a.
template <PwOp op, bool swap = false>
void compare(NodeContext& node) {
  const auto [a, b] = broadcast_pair(node);
  node.set(0, map(node, a, b, DType::kBool, [](ProgramBuilder& p, Reg left, Reg right) {
             return swap ? p.apply(op, right, left) : p.apply(op, left, right);
           }));
}

void logical_not(NodeContext& node) {
  node.set(0, map(node, node.in(0), DType::kBool, [](ProgramBuilder& p, Reg x) { return p.apply(PwOp::kNot, x); }));
}

void is_nan(NodeContext& node) {
  node.set(0, map(node, node.in(0), DType::kBool, [](ProgramBuilder& p, Reg x) { return p.apply(PwOp::kIsNan, x); }));
}

void is_inf(NodeContext& node) {
  const bool positive = node.get_int("detect_positive", 1) != 0, negative = node.get_int("detect_negative", 1) != 0;
  node.set(0, map(node, node.in(0), DType::kBool,
                  [&](ProgramBuilder& p, Reg x) { return p.is_infinite(x, positive, negative); }));
}

void where(NodeContext& node) {
  const DType dtype = node.in_type(1);
  node.require(node.in_type(0) == DType::kBool, "its condition is not bool");
  node.require(node.in_type(2) == dtype, "its two choices have different types");
  ProgramBuilder program;
  const Reg condition = program.load_as(DType::kBool, class_of(dtype));
  const Reg yes = program.load(dtype);
  const Reg no = program.load(dtype);
  program.store(program.apply(PwOp::kSelect, condition, yes, no), dtype);
  node.set(0, node.pointwise(program, {node.in(0), node.in(1), node.in(2)}, dtype));
}

constexpr ImporterRow kRows[] = {
    {"And", compare<PwOp::kAnd>},
    {"Equal", compare<PwOp::kEqual>},
    {"Greater", compare<PwOp::kLess, true>},
    {"GreaterOrEqual", compare<PwOp::kLessEqual, true>},
    {"IsInf", is_inf},
    {"IsNaN", is_nan},
    {"Less", compare<PwOp::kLess>},
    {"LessOrEqual", compare<PwOp::kLessEqual>},
    {"Not", logical_not},
    {"Or", compare<PwOp::kOr>},
    {"Where", where},
    {"Xor", compare<PwOp::kXor>},
};

}  // namespace

ImporterTable logic_importers() { return kRows; }

}  // namespace planwright::builder::importer
