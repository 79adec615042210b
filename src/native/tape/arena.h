// Where values lie: lifetimes, memory that is used again, results written over dead operands.

#pragma once

namespace evertrace::tape {

struct Draft;

// Fills in places, the working memory of steps, and the donors of outputs.
void place_values(Draft& draft);

}  // namespace evertrace::tape
