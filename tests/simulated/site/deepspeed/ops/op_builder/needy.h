#include <nobody_has_this.h>
