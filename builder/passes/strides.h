// What movement does to physical strides, on symbolic dims: where a value can be a view of another.
#ifndef PLANWRIGHT_BUILDER_PASSES_STRIDES_H_
#define PLANWRIGHT_BUILDER_PASSES_STRIDES_H_

#include <optional>
#include <vector>

#include "builder/ir/graph.h"

namespace planwright::builder {

// [N, C, spatial...] with the channels innermost.
ir::Layout channels_last(int rank);

// The layout whose axes, outermost first, are `order`; row-major order gives the default layout.
ir::Layout layout_of_order(std::vector<uint8_t> order);

// The layout's axes, outermost first, row-major written out.
std::vector<uint8_t> order_of(const ir::Layout& layout, int rank);

// Whether the two put dense elements of `dims` in the same places (axes proven to be of length 1 do not matter).
bool same_placing(const ir::Shape& dims, const ir::Layout& a, const ir::Layout& b);

// Whether the two have the same innermost axis, of those not proven to be of length 1: runs of elements that lie together
// in one do so in the other.
bool same_innermost(const ir::Shape& dims, const ir::Layout& a, const ir::Layout& b);

// Whether the strides are proven to be dense row-major ones (axes proven to be of length 1 do not matter).
bool is_row_major(const ir::Shape& dims, const ir::Shape& strides);

// The layout of Y, where Y axis i is X axis perm[i] and X has `layout`, that leaves every element in its place.
ir::Layout transposed(const ir::Layout& layout, const int32_t* perm, int rank);

// The strides with which elements of `dims` and `strides` are read as `new_dims` in the same row-major sequence;
// std::nullopt where no strides do that, or it cannot be proven that they do.
std::optional<ir::Shape> reshape_strides(const ir::Shape& dims, const ir::Shape& strides, const ir::Shape& new_dims);

// The layout of Y = Reshape(X), X dense in `layout`, that leaves every element in its place; std::nullopt as above.
std::optional<ir::Layout> reshaped(const ir::Layout& layout, const ir::Shape& dims, const ir::Shape& new_dims);

}  // namespace planwright::builder

#endif  // PLANWRIGHT_BUILDER_PASSES_STRIDES_H_
