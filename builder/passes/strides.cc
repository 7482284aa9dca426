#include "builder/passes/strides.h"

#include <algorithm>
#include <numeric>

namespace planwright::builder {
namespace {

using ir::Dim;
using ir::Layout;
using ir::Shape;

// Axes of X and of Y that hold the same elements: their products agree.
struct AxisGroup {
  std::vector<size_t> from, to;
};

std::vector<size_t> longer_axes(const Shape& dims) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != Dim(1)) axes.push_back(i);
  }
  return axes;
}

std::vector<Dim> prefix_products(const Shape& dims, const std::vector<size_t>& axes) {
  std::vector<Dim> products = {Dim(1)};
  for (const size_t axis : axes) products.push_back(products.back() * dims[axis]);
  return products;
}

// Splits the axes of a reshape where the products up to there are proven equal; axes of length 1 belong to no group.
// std::nullopt where axes are left over on one side only (a product that is 1 but not proven to be).
std::optional<std::vector<AxisGroup>> match_axes(const Shape& from, const Shape& to) {
  const std::vector<size_t> from_axes = longer_axes(from), to_axes = longer_axes(to);
  const std::vector<Dim> from_products = prefix_products(from, from_axes), to_products = prefix_products(to, to_axes);
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < from_axes.size() && j < to_axes.size()) {
    // The whole of both sides has as many elements, proven or guarded, so the rest is always a group.
    size_t end_i = from_axes.size(), end_j = to_axes.size();
    for (size_t k = i + 1; k < from_products.size(); ++k) {
      for (size_t l = j + 1; l < to_products.size(); ++l) {
        if (k + l < end_i + end_j && from_products[k] == to_products[l]) end_i = k, end_j = l;
      }
    }
    groups.push_back(
        {{from_axes.begin() + static_cast<ptrdiff_t>(i), from_axes.begin() + static_cast<ptrdiff_t>(end_i)},
         {to_axes.begin() + static_cast<ptrdiff_t>(j), to_axes.begin() + static_cast<ptrdiff_t>(end_j)}});
    i = end_i;
    j = end_j;
  }
  if (i < from_axes.size() || j < to_axes.size()) return std::nullopt;
  return groups;
}

// The layout's axes, outermost first, without those of length 1.
std::vector<uint8_t> longer_order(const Shape& dims, const Layout& layout) {
  std::vector<uint8_t> order = order_of(layout, static_cast<int>(dims.size()));
  std::erase_if(order, [&](uint8_t axis) { return dims[axis] == Dim(1); });
  return order;
}

}  // namespace

Layout channels_last(int rank) {
  std::vector<uint8_t> order = {0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(static_cast<uint8_t>(axis));
  order.push_back(1);
  return layout_of_order(std::move(order));
}

Layout layout_of_order(std::vector<uint8_t> order) {
  if (std::is_sorted(order.begin(), order.end())) order.clear();
  return Layout{std::move(order)};
}

std::vector<uint8_t> order_of(const Layout& layout, int rank) {
  if (!layout.order.empty()) return layout.order;
  std::vector<uint8_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), uint8_t{0});
  return order;
}

bool same_placing(const Shape& dims, const Layout& a, const Layout& b) {
  return longer_order(dims, a) == longer_order(dims, b);
}

bool same_innermost(const Shape& dims, const Layout& a, const Layout& b) {
  const std::vector<uint8_t> first = longer_order(dims, a), second = longer_order(dims, b);
  return first.empty() || first.back() == second.back();
}

Layout transposed(const Layout& layout, const int32_t* perm, int rank) {
  std::vector<uint8_t> inverse(static_cast<size_t>(rank));
  for (int axis = 0; axis < rank; ++axis) inverse[static_cast<size_t>(perm[axis])] = static_cast<uint8_t>(axis);
  std::vector<uint8_t> order = order_of(layout, rank);
  for (uint8_t& axis : order) axis = inverse[axis];
  return layout_of_order(std::move(order));
}

bool is_row_major(const Shape& dims, const Shape& strides) {
  const Shape dense = dense_strides(dims);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != Dim(1) && strides[axis] != dense[axis]) return false;
  }
  return true;
}

std::optional<Shape> reshape_strides(const Shape& dims, const Shape& strides, const Shape& new_dims) {
  // Dense row-major needs no proof: any dims of as many elements lie densely too.
  if (is_row_major(dims, strides)) return dense_strides(new_dims);
  const std::optional<std::vector<AxisGroup>> groups = match_axes(dims, new_dims);
  if (!groups) return std::nullopt;
  Shape result(new_dims.size(), Dim(0));
  for (const AxisGroup& group : *groups) {
    for (size_t i = 0; i + 1 < group.from.size(); ++i) {
      if (strides[group.from[i]] != strides[group.from[i + 1]] * dims[group.from[i + 1]]) return std::nullopt;
    }
    Dim stride = strides[group.from.back()];
    for (size_t i = group.to.size(); i-- > 0;) {
      result[group.to[i]] = stride;
      stride = stride * new_dims[group.to[i]];
    }
  }
  // An axis of length 1 is never stepped along; it continues the one inside it, as a dense one would.
  for (size_t i = new_dims.size(); i-- > 0;) {
    if (new_dims[i] != Dim(1)) continue;
    result[i] = i + 1 < new_dims.size() ? result[i + 1] * new_dims[i + 1] : Dim(1);
  }
  return result;
}

std::optional<Layout> reshaped(const Layout& layout, const Shape& dims, const Shape& new_dims) {
  if (!reshape_strides(dims, dense_strides(dims, layout), new_dims)) return std::nullopt;
  if (same_placing(dims, layout, {})) return Layout{};
  const std::optional<std::vector<AxisGroup>> groups = match_axes(dims, new_dims);
  const std::vector<uint8_t> order = order_of(layout, static_cast<int>(dims.size()));
  std::vector<uint8_t> new_order;
  const auto is_listed = [&](size_t axis) {
    return std::find(new_order.begin(), new_order.end(), axis) != new_order.end();
  };
  // Leading axes of length 1 first, others before the axis they stand in front of.
  for (const uint8_t axis : order) {
    for (const AxisGroup& group : *groups) {
      if (group.from.front() != axis) continue;
      for (size_t to : group.to) {
        size_t first = to;
        while (first > 0 && new_dims[first - 1] == Dim(1) && !is_listed(first - 1)) --first;
        for (; first <= to; ++first) new_order.push_back(static_cast<uint8_t>(first));
      }
    }
  }
  for (size_t axis = 0; axis < new_dims.size(); ++axis) {
    if (!is_listed(axis)) new_order.push_back(static_cast<uint8_t>(axis));
  }
  return layout_of_order(std::move(new_order));
}

}  // namespace planwright::builder
