// Runs a small engine through the installed C++ wrapper: consumer_cpp ENGINE.
#include <planwright/planwright.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    pw::Context context{pw::Engine(argv[1])};
    const std::vector<float> x = {1, 2, 3, 4, -1, 0, 0, 0};
    std::vector<float> y(6);
    context.set_input_shape("x", {2, 4});
    if (context.shape("y") != pw::Dims{2, 3}) return 1;
    context.bind_input("x", x.data(), x.size() * sizeof(float));
    context.bind("y", y.data(), y.size() * sizeof(float));
    try {
      context.bind_input("y", x.data(), x.size() * sizeof(float));  // would be written through a const pointer
      return 1;
    } catch (const pw::Failure& failure) {
      if (failure.status() != PW_INVALID) return 1;
    }
    context.run();
    std::printf("planwright %s:", pw_version());
    for (const float value : y) std::printf(" %g", value);
    std::printf("\n");
    context.set_input_shape("x", {9, 4});  // past the profile
  } catch (const pw::Failure& failure) {
    std::printf("refused with %d: %s\n", failure.status(), failure.what());
    return failure.status() == PW_INVALID ? 0 : 1;
  }
  return 1;
}
