# Builds the extension module in a folder that stays, ${EVERTRACE_OBJECTS} beside the sources, one for
# each Python; CMakeLists.txt says why.

execute_process(
  COMMAND "${Python_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_config_var('SOABI'))"
  OUTPUT_VARIABLE tag OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
get_filename_component(objects "${EVERTRACE_OBJECTS}/${tag}${EVERTRACE_SANITIZE}" ABSOLUTE
  BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}/../..")

# Copies whose contents are those of an earlier copy keep its time.
include(headers.cmake)
file(GLOB_RECURSE headers RELATIVE "${NUMPY_INCLUDE_DIR}" "${NUMPY_INCLUDE_DIR}/*.h")
foreach(header IN LISTS headers)
  get_filename_component(folder "${objects}/headers/${header}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  file(COPY_FILE "${NUMPY_INCLUDE_DIR}/${header}" "${objects}/headers/${header}" ONLY_IF_DIFFERENT)
endforeach()

set(options)
foreach(name CMAKE_BUILD_TYPE CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS CMAKE_CXX_COMPILER_LAUNCHER
    EVERTRACE_WERROR EVERTRACE_SANITIZE Python_EXECUTABLE Python_ROOT_DIR Python_INCLUDE_DIR)
  if(DEFINED ${name})
    list(APPEND options "-D${name}=${${name}}")
  endif()
endforeach()
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_SOURCE_DIR}" -B "${objects}" -G "${CMAKE_GENERATOR}"
    "-DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}" -DEVERTRACE_OBJECTS= ${options}
    "-DNUMPY_INCLUDE_DIR=${objects}/headers"
  COMMAND_ERROR_IS_FATAL ANY)

add_custom_target(native ALL USES_TERMINAL
  COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/progress.py"
    "${CMAKE_COMMAND}" --build "${objects}" --target _native)

set(module "_native.${tag}${CMAKE_SHARED_LIBRARY_SUFFIX}")
if(NOT CMAKE_SHARED_LIBRARY_SUFFIX)
  set(module "_native.${tag}.so")   # without a language CMake does not say
endif()
if(SKBUILD_STATE STREQUAL "editable")
  add_custom_command(TARGET native POST_BUILD COMMAND "${CMAKE_COMMAND}" -E copy_if_different
    "${objects}/${module}" "${CMAKE_CURRENT_SOURCE_DIR}/../evertrace/_src")
endif()
install(PROGRAMS "${objects}/${module}" DESTINATION evertrace/_src)
