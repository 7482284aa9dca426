// Runs one pass on a small graph: the text before and after, and whether the graph still computes the same.
#ifndef PLANWRIGHT_TESTS_SUPPORT_PASS_CHECK_H_
#define PLANWRIGHT_TESTS_SUPPORT_PASS_CHECK_H_

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "builder/passes/passes.h"
#include "tests/support/graph_builder.h"

namespace planwright::testing {

// Compares fp32 outputs within rounding, others to the last bit.
inline void expect_same(const std::vector<ir::Tensor>& before, const std::vector<ir::Tensor>& after) {
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(before[i].dims, after[i].dims) << "output " << i;
    ASSERT_EQ(before[i].dtype, after[i].dtype) << "output " << i;
    if (before[i].dtype != DType::kF32) {
      EXPECT_EQ(before[i].data, after[i].data) << "output " << i;
      continue;
    }
    const std::vector<float> x = elements_of<float>(before[i]), y = elements_of<float>(after[i]);
    for (size_t j = 0; j < x.size(); ++j) {
      ASSERT_NEAR(x[j], y[j], 1e-5f * (1 + std::abs(x[j]))) << "output " << i << " element " << j;
    }
  }
}

// Runs `pass` once on `graph`, with `inputs` before and after. The graph's lines (without constants' declarations)
// after it; "unchanged" where the pass says so.
inline std::string after_pass(builder::Pass pass, ir::Graph& graph, const std::vector<ir::Tensor>& inputs) {
  EXPECT_EQ(ir::verify(graph), "");
  const std::string text_before = ir::print(graph);
  const std::vector<ir::Tensor> before = ir::interpret(graph, inputs);
  const bool changed = pass(graph);
  EXPECT_EQ(ir::verify(graph), "");
  const std::string text = ir::print(graph);
  EXPECT_EQ(changed, text != text_before);
  expect_same(before, ir::interpret(graph, inputs));
  if (!changed) return "unchanged";
  std::string nodes;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    if (line.starts_with("  %") || line.starts_with("  output")) nodes += line;
  }
  return nodes;
}

}  // namespace planwright::testing

#endif  // PLANWRIGHT_TESTS_SUPPORT_PASS_CHECK_H_
