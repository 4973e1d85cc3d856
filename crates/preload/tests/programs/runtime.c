// A runtime of OpenMP with one construct.
static int calls;

void GOMP_critical_start(void) { calls++; }
void GOMP_critical_end(void) { calls++; }
int runtime_calls(void) { return calls; }
