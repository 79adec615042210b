// A function that is called while its caller waits: less to compile than std::function.

#pragma once

namespace evertrace {

template <class Signature>
class FunctionRef;

// What it was made of has to live as long.
template <class... Args>
class FunctionRef<void(Args...)> {
 public:
  template <class F>
  FunctionRef(const F& function)
      : function_(&function), call_([](const void* f, Args... args) {
          (*static_cast<const F*>(f))(args...);
        }) {}

  void operator()(Args... args) const { call_(function_, args...); }

 private:
  const void* function_;
  void (*call_)(const void* function, Args... args);
};

}  // namespace evertrace
