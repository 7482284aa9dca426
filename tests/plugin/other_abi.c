/* A plugin that was made for another version of plugin.h. */
#include <planwright/plugin.h>

static const pw_plugin plugin = {.struct_size = sizeof(pw_plugin), .abi = PW_PLUGIN_ABI + 1};

PW_PLUGIN_EXPORT const pw_plugin* planwright_plugin(void) { return &plugin; }
