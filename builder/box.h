// One profile's box of shapes, as values of the graph's symbols.
#ifndef PLANWRIGHT_BUILDER_BOX_H_
#define PLANWRIGHT_BUILDER_BOX_H_

#include <cstdint>
#include <vector>

#include "builder/ir/graph.h"
#include "builder/profile.h"

namespace planwright::builder {

// A value for each symbol of the graph's pool.
using SymbolValues = std::vector<int64_t>;

class Box {
 public:
  // Throws Error(kInvalid) where the profile does not give each of the graph's inputs dims of its rank that agree with
  // its shape, where its opt breaks one of the graph's guards, or where its min is too small for one.
  // The graph must outlive the box.
  Box(const ir::Graph& graph, const Profile& profile);

  const SymbolValues& opt() const { return opt_; }
  // The box's lowest and highest corner, each only where it differs from opt and the guards let it through: those of
  // every run, and for steps in bodies (`of_body`) those of branches too.
  const std::vector<SymbolValues>& corners(bool of_body) const { return of_body ? body_corners_ : corners_; }
  // What the expression can be at most anywhere in the box.
  int64_t upper_bound(ir::Dim dim) const;
  // Bytes that a dense tensor of the graph or of a body in it takes at most. Throws Error(kResource), naming it, where
  // they pass int64.
  uint64_t bytes_at_most(const ir::Graph& graph, const ir::Value& value) const;

 private:
  const std::vector<ir::Guard>& guards_;  // the graph's
  std::vector<ir::Interval> ranges_;
  SymbolValues opt_;
  std::vector<SymbolValues> corners_, body_corners_;
};

int64_t evaluate_at(ir::Dim dim, const SymbolValues& values);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_BOX_H_
