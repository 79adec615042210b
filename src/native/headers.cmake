# NUMPY_INCLUDE_DIR, unless it is given: the folder of the headers that come with NumPy, which is a
# build requirement.
if(NOT NUMPY_INCLUDE_DIR)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
      "import importlib.util as u, pathlib; print(pathlib.Path(u.find_spec('numpy').origin).parent / '_core/include')"
    OUTPUT_VARIABLE NUMPY_INCLUDE_DIR
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
endif()
