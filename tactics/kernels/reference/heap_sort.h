// Sorting indices in place, without memory of its own.
#ifndef PLANWRIGHT_TACTICS_KERNELS_REFERENCE_HEAP_SORT_H_
#define PLANWRIGHT_TACTICS_KERNELS_REFERENCE_HEAP_SORT_H_

#include <cstdint>

namespace planwright::reference {

// Restores the heap (the last in order on top) below `parent`.
template <typename Before>
void sift_down(int64_t* heap, int64_t parent, int64_t count, const Before& before) {
  for (int64_t child = 2 * parent + 1; child < count; parent = child, child = 2 * parent + 1) {
    if (child + 1 < count && before(heap[child], heap[child + 1])) ++child;
    if (!before(heap[parent], heap[child])) return;
    const int64_t swapped = heap[parent];
    heap[parent] = heap[child];
    heap[child] = swapped;
  }
}

// Ascending by `before`, which must be a total order: then the result does not depend on how it is sorted.
template <typename Before>
void heap_sort(int64_t* indices, int64_t count, const Before& before) {
  for (int64_t i = count / 2 - 1; i >= 0; --i) sift_down(indices, i, count, before);
  for (int64_t end = count - 1; end > 0; --end) {
    const int64_t last = indices[end];
    indices[end] = indices[0];
    indices[0] = last;
    sift_down(indices, 0, end, before);
  }
}

}  // namespace planwright::reference

#endif  // PLANWRIGHT_TACTICS_KERNELS_REFERENCE_HEAP_SORT_H_
