// The C function of plugins.
#include "tactics/kernels/custom.h"

int pw_register_plugin(const pw_plugin* plugin) { return static_cast<int>(planwright::register_plugin(plugin).code()); }
