#include "needy.h"
int needy() { return 1; }
