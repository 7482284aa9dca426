// Ending on Ctrl-C and SIGTERM without leaving anything half done.
#ifndef PLANWRIGHT_APPS_COMMON_INTERRUPT_H_
#define PLANWRIGHT_APPS_COMMON_INTERRUPT_H_

namespace planwright::apps {

// From now on the first SIGINT or SIGTERM sets a flag; the second ends the process at once. A file size limit fails the
// write instead of ending the process.
void catch_interrupts();
bool interrupted();

// Throws Error(kCancelled) once interrupted.
void stop_if_interrupted();

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_INTERRUPT_H_
