#include <vector>
#ifdef NEVER
#include <only_elsewhere.h>
#endif
int op() { return std::vector<int>{1}[0]; }
