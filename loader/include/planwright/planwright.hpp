// Planwright's loader for C++: owners over the C functions of planwright.h, whose comments hold here too. Header only;
// needs C++17. A failed call throws pw::Failure with the library's words.
//
//   pw::Engine engine("model.engine");
//   pw::Context context(engine);
//   context.set_input_shape("x", {1, 3, 224, 224});
//   context.bind_input("x", input.data(), input.size() * sizeof(float));
//   context.bind("y", output.data(), output.size() * sizeof(float));
//   context.run();
#ifndef PLANWRIGHT_PLANWRIGHT_HPP_
#define PLANWRIGHT_PLANWRIGHT_HPP_

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "planwright/planwright.h"
#include "planwright/plugin.h"

namespace pw {

using Dims = std::vector<int64_t>;

class Failure : public std::runtime_error {
 public:
  Failure(int status, const std::string& what) : std::runtime_error(what), status_(static_cast<pw_status>(status)) {}
  pw_status status() const { return status_; }

 private:
  pw_status status_;
};

// Throws Failure unless `status` is PW_OK.
inline void require(int status) {
  if (status != PW_OK) throw Failure(status, pw_last_error());
}

// Makes the operators of a plugin known, for engines opened afterwards.
inline void register_plugin(const pw_plugin* plugin) { require(pw_register_plugin(plugin)); }

// An open engine. May be used by any number of threads; goes when it and the last of its contexts do.
class Engine {
 public:
  explicit Engine(const std::string& path, const pw_open_options* options = nullptr) {
    pw_engine* engine = nullptr;
    require(pw_engine_open(path.c_str(), options, &engine));
    engine_.reset(engine);
  }

  // From bytes in memory, as pw_engine_open_memory.
  Engine(const void* data, size_t bytes, const pw_open_options* options = nullptr) {
    pw_engine* engine = nullptr;
    require(pw_engine_open_memory(data, bytes, options, &engine));
    engine_.reset(engine);
  }

  pw_engine* get() const { return engine_.get(); }

  // Inputs first, each group in the model's order. Names live as long as the engine.
  std::vector<pw_binding> bindings() const {
    std::vector<pw_binding> list(pw_engine_binding_count(get()));
    for (size_t i = 0; i < list.size(); ++i) require(pw_engine_binding(get(), i, &list[i]));
    return list;
  }

  pw_engine_info info() const {
    pw_engine_info info{};
    info.struct_size = sizeof info;
    require(pw_engine_get_info(get(), &info));
    return info;
  }

 private:
  struct Close {
    void operator()(pw_engine* engine) const { pw_engine_close(engine); }
  };
  std::unique_ptr<pw_engine, Close> engine_;
};

// An engine's run-time state; one caller at a time.
class Context {
 public:
  explicit Context(const Engine& engine, const pw_context_options* options = nullptr) {
    pw_context* context = nullptr;
    require(pw_context_create(engine.get(), options, &context));
    context_.reset(context);
    for (const pw_binding& binding : engine.bindings()) {
      if (binding.is_input != 0) inputs_.emplace_back(binding.name);
    }
  }

  pw_context* get() const { return context_.get(); }

  void set_input_shape(const std::string& name, const Dims& dims) {
    require(pw_context_set_input_shape(get(), name.c_str(), dims.data(), dims.size()));
  }

  // Bytes that are enough for an output at any shape of the profile in use.
  size_t output_limit(const std::string& name) const {
    size_t bytes = 0;
    require(pw_context_output_limit(get(), name.c_str(), &bytes));
    return bytes;
  }

  // The dims of any binding for the shapes set.
  Dims shape(const std::string& name) const {
    Dims dims(PW_MAX_RANK);
    size_t rank = dims.size();
    require(pw_context_output_shape(get(), name.c_str(), dims.data(), &rank));
    dims.resize(rank);
    return dims;
  }

  void bind(const std::string& name, void* data, size_t bytes) {
    require(pw_context_bind(get(), name.c_str(), data, bytes));
  }

  // The same for an input, which may be constant: run() only reads it. Throws Failure(PW_INVALID) for an output.
  void bind_input(const std::string& name, const void* data, size_t bytes) {
    if (!is_input(name)) throw Failure(PW_INVALID, name + " is no input: bind it to memory that may be written");
    bind(name, const_cast<void*>(data), bytes);
  }

  void run() { require(pw_context_run(get())); }

  pw_context_info info() const {
    pw_context_info info{};
    info.struct_size = sizeof info;
    require(pw_context_get_info(get(), &info));
    return info;
  }

 private:
  bool is_input(const std::string& name) const {
    for (const std::string& input : inputs_) {
      if (input == name) return true;
    }
    return false;
  }

  struct Destroy {
    void operator()(pw_context* context) const { pw_context_destroy(context); }
  };
  std::unique_ptr<pw_context, Destroy> context_;
  std::vector<std::string> inputs_;
};

}  // namespace pw

#endif  // PLANWRIGHT_PLANWRIGHT_HPP_
