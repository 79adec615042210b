// The order of the steps, and what becomes one of them.

#pragma once

namespace evertrace::tape {

struct Draft;

// Fills in the steps: loops of one size become groups, as far as the order allows.
void schedule(Draft& draft);

}  // namespace evertrace::tape
