extern_kernels.mm(arg0_1, arg1_1, out=buf0)
