// How the sanitizers' allocators answer what is too large: as malloc does, with null, and quickly. Linked into tests of
// the library's own answer to that.
extern "C" {

__attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}
__attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

}  // extern "C"
