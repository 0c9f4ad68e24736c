/* Runs the function "main" of a library that TVM compiled, without TVM's runtime.

   kernel LIBRARY DATA SHAPE...

   DATA holds float32 tensors one after another, one for each SHAPE such as 1x32; it is read, the
   function is called with them, and it is written. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The binary interface of DLPack and of TVM's functions: dlpack.h, tvm/ffi/c_api.h. */
typedef struct { int32_t type, id; } Device;
typedef struct { uint8_t code, bits; uint16_t lanes; } DataType;
typedef struct {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;
typedef struct { int32_t type_index; uint32_t padding; void *pointer; } Any;
typedef struct { void *sync; int32_t tasks; } Group;
typedef int (*Function)(void *, const Any *, int32_t, Any *);
typedef int (*Task)(int, Group *, void *);

enum { CPU = 1, FLOAT = 2, TENSOR = 7, MOST = 16 };

static void *allocate(int type, int id, uint64_t bytes, int code, int bits) {
  (void)type, (void)id, (void)code, (void)bits;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static int release(int type, int id, void *pointer) {
  (void)type, (void)id;
  free(pointer);
  return 0;
}

static int launch(Task task, void *data, int count) {
  Group group = {NULL, 1};
  (void)count;
  return task(0, &group, data);
}

static int barrier(int task, Group *group) {
  (void)task, (void)group;
  return 0;
}

static void fail(const char *kind, const char *message) {
  fprintf(stderr, "%s: %s\n", kind, message);
  exit(1);
}

static void fail_parts(const char *kind, const char **parts, int32_t count) {
  for (int32_t i = 0; i < count; ++i) fputs(parts[i] ? parts[i] : "", stderr);
  fail(kind, "");
}

/* Libraries without calls of parallel loops refer to these by their names. */
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) { fail(kind, message); }
void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t count) {
  fail_parts(kind, parts, count);
}

/* The library finds other functions of the runtime in variables that its loader sets. */
static void set(void *library, const char *name, void *function) {
  void **variable = dlsym(library, name);
  if (variable) *variable = function;
}

int main(int count, char **arguments) {
  if (count < 4 || count - 3 > MOST) fail("usage", "kernel LIBRARY DATA SHAPE...");
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (!library) fail("dlopen", dlerror());
  set(library, "__TVMBackendAllocWorkspace", allocate);
  set(library, "__TVMBackendFreeWorkspace", release);
  set(library, "__TVMBackendParallelLaunch", launch);
  set(library, "__TVMBackendParallelBarrier", barrier);
  set(library, "__TVMFFIErrorSetRaisedFromCStr", fail);
  set(library, "__TVMFFIErrorSetRaisedFromCStrParts", fail_parts);
  Function function = (Function)dlsym(library, "__tvm_ffi_main");
  if (!function) fail("dlsym", dlerror());

  static Tensor tensors[MOST];
  static int64_t shapes[MOST][MOST];
  static size_t sizes[MOST];
  static Any packed[MOST], result;
  int number = count - 3;
  FILE *file = fopen(arguments[2], "r+b");
  if (!file) fail("data", "cannot be opened");
  for (int i = 0; i < number; ++i) {
    size_t elements = 1;
    int32_t ndim = 0;
    for (char *part = strtok(arguments[3 + i], "x"); part; part = strtok(NULL, "x"))
      elements *= (size_t)(shapes[i][ndim++] = atoll(part));
    sizes[i] = elements;
    void *data = allocate(CPU, 0, elements * sizeof(float), FLOAT, 32);
    if (fread(data, sizeof(float), elements, file) != elements) fail("data", "is too short");
    tensors[i] = (Tensor){data, {CPU, 0}, ndim, {FLOAT, 32, 1}, shapes[i], NULL, 0};
    packed[i] = (Any){TENSOR, 0, &tensors[i]};
  }
  if (function(NULL, packed, number, &result)) fail("call", "failed");
  rewind(file);
  for (int i = 0; i < number; ++i)
    if (fwrite(tensors[i].data, sizeof(float), sizes[i], file) != sizes[i]) fail("data", "full");
  return fclose(file);
}
