"""The loop nest and the assembly of small kernels, as compilers write them."""

#: A matrix product of 64 x 32 by 32 x 48, tiled, with the rows in parallel.
TIR = """# from tvm.script import tirx as T

@T.prim_func(private=True)
def main(a: T.Buffer((T.int64(64), T.int64(32)), "float32"), b: T.Buffer((T.int64(32), T.int64(48)), "float32"), c: T.Buffer((T.int64(64), T.int64(48)), "float32")):
    T.func_attr({"tirx.is_scheduled": True})
    # with T.sblock("root"):
    for i_0 in T.parallel(T.int64(8), annotations={"pragma_auto_unroll_max_step": 16}):
        for j_0, i_1 in T.grid(T.int64(3), T.int64(8)):
            for k in range(T.int64(32)):
                for j_1 in T.vectorized(T.int64(16)):
                    with T.sblock("c"):
                        v_i = T.axis.spatial(T.int64(64), i_0 * T.int64(8) + i_1)
                        v_j = T.axis.spatial(T.int64(48), j_0 * T.int64(16) + j_1)
                        v_k = T.axis.reduce(T.int64(32), k)
                        T.reads(c[v_i, v_j], a[v_i, v_k], b[v_k, v_j])
                        T.writes(c[v_i, v_j])
                        c[v_i, v_j] = c[v_i, v_j] + a[v_i, v_k] * b[v_k, v_j]
        for j in T.unroll(T.int64(5)):
            with T.sblock("d"):
                v_j = T.axis.remap("S", [j])
                T.reads(c[0:8, v_j])
                T.writes(c[0:8, v_j])
                c[0, v_j] = T.float32(0.0)
"""  # noqa: E501  as TVM writes it

#: An outer loop around a loop of fused multiply-adds, and one of scalars.
X86 = """__tvm_ffi_kernel:
.Lfunc_begin0:
	movq	%rdi, %rax
.LBB0_1:
	vmovups	(%rsi), %zmm0
.LBB0_2:
	vfmadd231ps	(%rdx), %zmm0, %zmm1
	vfmadd231ps	64(%rdx), %zmm0, %zmm2
	vmulps	%ymm3, %ymm4, %ymm5
	addq	$64, %rdx
	jne	.LBB0_2
	decq	%rcx
	jne	.LBB0_1
.LBB0_3:
	vaddss	(%rdi), %xmm0, %xmm0
	cmpq	%rax, %rdi
	jb	.LBB0_3
	callq	*(%rax)
	retq
"""

#: The IR of :data:`X86`, from :data:`TIR`: loops over ``i_1`` and ``k``, then one of LLVM's own.
LLVM = """define dllexport i32 @__tvm_ffi_kernel(ptr %a, i32 %n) local_unnamed_addr #0 {
entry:
  br label %for_body_i_1

for_body_i_1:                                     ; preds = %entry, %for_end_k
  %i_17 = phi i32 [ 0, %entry ], [ %next, %for_end_k ]
  br label %for_begin_j_1.preheader

for_begin_j_1.preheader:                          ; preds = %for_body_i_1, %for_begin_j_1.preheader
  %indvars.iv = phi i64 [ 0, %for_body_i_1 ], [ %indvars.iv.next, %for_begin_j_1.preheader ]
  %1 = tail call <16 x float> @llvm.fmuladd.v16f32(<16 x float> %x, <16 x float> %y, <16 x float> %z)
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %done = icmp eq i64 %indvars.iv.next, 32
  br i1 %done, label %for_end_k, label %for_begin_j_1.preheader, !prof !3

for_end_k:                                        ; preds = %for_begin_j_1.preheader
  %next = add nuw nsw i32 %i_17, 1
  %last = icmp eq i32 %next, 8
  br i1 %last, label %vector.body, label %for_body_i_1, !prof !3

vector.body:                                      ; preds = %for_end_k, %vector.body
  %index = phi i64 [ 0, %for_end_k ], [ %index.next, %vector.body ]
  %2 = fadd float %u, %v
  %index.next = add nuw i64 %index, 1
  %end = icmp eq i64 %index.next, 5
  br i1 %end, label %exit, label %vector.body

exit:                                             ; preds = %vector.body
  ret i32 0
}
"""  # noqa: E501  as LLVM writes it

ARM = """kernel:
.LBB0_1:
	ldr	q1, [x1], #16
	fmla	v0.4s, v1.4s, v2.4s
	fadd	s3, s3, s4
	subs	x2, x2, #1
	b.ne	.LBB0_1
	bl	memset
	ret
"""
