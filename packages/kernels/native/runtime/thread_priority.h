#pragma once

namespace hearth {

/// Lets the other threads of the process go first where there are fewer cores than threads that want one. For threads whose work
/// nobody waits for. Does nothing where a system has no priorities for single threads.
void lower_thread_priority();

}  // namespace hearth
