// The numbers of the values that an instruction reads or writes: within the object if they are few.
//
// A program is copied for each size that a template is filled in for, and most of its instructions
// have an operand or two.

#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace evertrace::tape {

class Slots {
 public:
  Slots() = default;
  Slots(std::initializer_list<int> items) { assign(items.begin(), items.size()); }
  Slots(const std::vector<int>& items) { assign(items.data(), items.size()); }  // NOLINT: as they are
  Slots(const Slots& other) { assign(other.begin(), other.size_); }
  Slots(Slots&& other) noexcept : size_(other.size_), many_(std::move(other.many_)) {
    std::copy_n(other.few_, kFew, few_);
    other.size_ = 0;
  }
  Slots& operator=(Slots other) noexcept {
    size_ = other.size_;
    many_.swap(other.many_);
    std::copy_n(other.few_, kFew, few_);
    return *this;
  }
  ~Slots() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int* begin() { return many_.empty() ? few_ : many_.data(); }
  int* end() { return begin() + size_; }
  const int* begin() const { return many_.empty() ? few_ : many_.data(); }
  const int* end() const { return begin() + size_; }
  int& operator[](size_t i) { return begin()[i]; }
  int operator[](size_t i) const { return begin()[i]; }
  int back() const { return begin()[size_ - 1]; }
  operator std::vector<int>() const { return {begin(), end()}; }  // NOLINT: as they are

 private:
  void assign(const int* items, size_t size) {
    size_ = size;
    if (size > kFew) many_.assign(items, items + size);
    else std::copy_n(items, size, few_);
  }

  static constexpr size_t kFew = 4;
  size_t size_ = 0;
  int few_[kFew] = {};
  std::vector<int> many_;  // all of them, where they are more
};

}  // namespace evertrace::tape
