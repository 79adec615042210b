# The folders of the headers of NumPy and of XLA's foreign function interface, which come with wheels
# that are build requirements: XLA_INCLUDE_DIR and NUMPY_INCLUDE_DIR, unless they are given.
function(header_directory package folder result)
  if(${result})
    return()
  endif()
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
      "import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec('${package}').origin).parent / '${folder}')"
    OUTPUT_VARIABLE path
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${path}" PARENT_SCOPE)
endfunction()
header_directory(jaxlib include XLA_INCLUDE_DIR)
header_directory(numpy _core/include NUMPY_INCLUDE_DIR)
