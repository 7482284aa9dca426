# Rooms: the folders of the design, each a target that sees only what it may include.
#
# Headers are included by their path from the top ("planfmt/write.h"), but no target has the top in its include path.
# Each room gets a folder of its own in the build tree that holds one link, to the room; a target sees the rooms it
# links and no others, so an include that goes upwards does not compile (tests/install/rooms.sh tries one).

set(PLANWRIGHT_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor)

add_library(planwright_flags INTERFACE)
target_compile_features(planwright_flags INTERFACE cxx_std_20)
# GCC contracts a*b+c by default; results must be the same on every tier, so contraction is explicit (MulAdd).
target_compile_options(planwright_flags INTERFACE ${PLANWRIGHT_WARNINGS} -ffp-contract=off -fvisibility=hidden)
if(PLANWRIGHT_SANITIZE)
  target_compile_options(planwright_flags INTERFACE -fsanitize=${PLANWRIGHT_SANITIZE} -fno-sanitize-recover=all
                                                    -fno-omit-frame-pointer)
  if(PLANWRIGHT_SANITIZE MATCHES "undefined")
    # Checks run-time type information, which the loader's classes do not have.
    target_compile_options(planwright_flags INTERFACE -fno-sanitize=vptr)
  endif()
  target_link_options(planwright_flags INTERFACE -fsanitize=${PLANWRIGHT_SANITIZE})
endif()
if(PLANWRIGHT_FUZZ)
  target_compile_options(planwright_flags INTERFACE -fsanitize=fuzzer-no-link)  # counts edges for libFuzzer
endif()
if(PLANWRIGHT_COVERAGE)
  target_compile_options(planwright_flags INTERFACE --coverage)
  target_link_options(planwright_flags INTERFACE --coverage)
endif()

# In a sanitizer build, what is not loaded by products: the building side, of which ./check builds no more than the fuzz
# target of models, and the tests' own code. With the checks of addresses and of arithmetic, without line numbers, the
# checks that each pointer costs, and stack slots that are watched scope by scope (the preset `fuzz` has them all). That
# and headers compiled once (builder/CMakeLists.txt) halve the building side's fourteen minutes of CPU time in a cold
# ./check; a test takes 6.4 seconds instead of 12. Linked after planwright_flags.
add_library(planwright_light_flags INTERFACE)
if(PLANWRIGHT_SANITIZE AND NOT PLANWRIGHT_FUZZ)
  target_compile_options(planwright_light_flags INTERFACE -g0 -fno-sanitize-address-use-after-scope
    -fno-sanitize=null,alignment,object-size,pointer-overflow,nonnull-attribute,returns-nonnull-attribute)
endif()

# The loader's own code: no exceptions, no RTTI, nothing that needs the C++ runtime at run time.
add_library(planwright_loader_flags INTERFACE)
target_compile_options(planwright_loader_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>
  -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections)

# planwright_room(TARGET FOLDER): gives TARGET the include path "<build>/rooms/TARGET", in which only FOLDER is seen.
function(planwright_room target folder)
  set(room "${PROJECT_BINARY_DIR}/rooms/${target}")
  get_filename_component(parent "${room}/${folder}" DIRECTORY)
  file(MAKE_DIRECTORY "${parent}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${room}/${folder}" SYMBOLIC)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${room}>")
  else()
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${room}>")
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:planwright_flags>)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()

