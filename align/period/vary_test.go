package period

import (
	"fmt"
	"testing"
)

// A sized network launches other kernels for other lengths, as libraries choose them: names of tiles, split sums with a
// kernel of their own and a workspace to clear.
type sized struct {
	layers, tokens int
	hint, feed     bool
}

func (m sized) gemm(s *script, thread int32, n int) {
	tile := []string{"32x32x8", "64x64x8", "64x128x8", "128x64x8", "256x128x8"}[min(4, m.tokens*n/400)]
	switch m.tokens * n / 100 % 4 {
	case 0:
		s.op(thread, "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize"+tile+"_execute_kernel__5x_cublas", m.tokens)
	case 1:
		s.op(thread, "void cutlass::Kernel2<cutlass_80_simt_sgemm_"+tile+"_nt_align1>(T1::Params)", m.tokens)
		s.op(thread, "void cublasLt::splitKreduce_kernel<(int)32, (int)16, float>()", m.tokens)
	case 2:
		s.class(thread, Memset, 5)
		s.op(thread, "void scal_kernel<float, float>()", m.tokens)
		s.op(thread, "void sgemm_largek_lds64<(bool)1, (int)"+fmt.Sprint(m.tokens%5)+">()", m.tokens)
	default:
		s.op(thread, "nvjet_sm90_hsh_"+tile+"_TNT", m.tokens)
	}
}

func (m sized) data(s *script) {
	if m.feed {
		s.class(1, HtoD, 10+m.tokens/64)
		s.class(1, HtoD, 9)
	}
}

func elementwise(functor string, tokens int) string {
	return fmt.Sprintf("void at::native::%s<(int)%d, at::native::%s<float>>(int)",
		[]string{"vectorized_elementwise_kernel", "unrolled_elementwise_kernel"}[tokens%3/2], 1<<(tokens%4), functor)
}

func (m sized) forward(s *script) {
	if m.tokens < 64 {
		s.op(1, "void at::native::indexSelectSmallIndex<float>()", m.tokens)
	} else {
		s.op(1, "void at::native::vectorized_gather_kernel<(int)16, long>()", m.tokens)
	}
	for range m.layers {
		s.op(1, "void at::native::vectorized_layer_norm_kernel<float>()", m.tokens)
		m.gemm(s, 1, 3)
		if m.tokens%2 == 0 {
			s.op(1, "fmha_cutlassF_f32_aligned_64x64_rf_sm80(AttentionKernel)", m.tokens)
		} else {
			s.op(1, "void pytorch_flash::flash_fwd_kernel<(int)64>()", m.tokens)
		}
		m.gemm(s, 1, 1)
		s.op(1, elementwise("CUDAFunctor_add", m.tokens), m.tokens)
		s.op(1, "void at::native::vectorized_layer_norm_kernel<float>()", m.tokens)
		m.gemm(s, 1, 4)
		s.op(1, elementwise("GeluCUDAKernelImpl", m.tokens), m.tokens)
		m.gemm(s, 1, 4)
		s.op(1, elementwise("CUDAFunctor_add", m.tokens), m.tokens)
	}
	m.gemm(s, 1, 20)
}

func (m sized) loss(s *script) {
	s.op(1, fmt.Sprintf("softmax_warp_forward<float, (int)%d>", m.tokens%7), m.tokens)
	s.op(1, "nll_loss_forward_reduce_cuda_kernel_2d", 1)
}

func (m sized) backward(s *script) {
	s.raw(1, "FillFunctor", 1)
	s.op(2, "nll_loss_backward_reduce_cuda_kernel_2d", 1)
	s.op(2, fmt.Sprintf("softmax_warp_backward<float, (int)%d>", m.tokens%7), m.tokens)
	for range m.layers {
		for _, n := range []int{4, 4, 1, 3} {
			m.gemm(s, 2, n)
			m.gemm(s, 2, n+1)
			s.op(2, elementwise("BinaryFunctor", m.tokens), m.tokens)
		}
		s.op(2, "layer_norm_grad_input_kernel_vectorized<float>", m.tokens)
		s.op(2, "fmha_cutlassB_f32_aligned_64x64_k32_sm80(AttentionBackwardKernel)", m.tokens)
	}
}

func (m sized) optimize(s *script) { model{hint: m.hint}.optimize(s) }

// TestVaryingLength: batch and length are drawn anew each step, and with them the kernels.
func TestVaryingLength(t *testing.T) {
	t.Parallel()
	for _, o := range []struct {
		hint, feed   bool
		micro, every int
		noise        float64
	}{
		{true, true, 1, 0, 0}, {true, false, 1, 0, 0}, {false, true, 1, 0, 0}, {false, false, 1, 0, 0},
		{true, true, 3, 0, 0}, {true, true, 1, 4, 0}, {true, true, 2, 3, 0}, {true, true, 1, 0, 0.01},
	} {
		for seed := range int64(6) {
			t.Run(fmt.Sprintf("%+v %d", o, seed), func(t *testing.T) {
				t.Parallel()
				s := newScript(seed)
				s.drop, s.add, s.swap = o.noise, o.noise, o.noise
				m := sized{layers: 4, hint: o.hint, feed: o.feed}
				model{layers: 4}.setup(s)
				var passes [][2]int // operations at which a forward and a backward pass begin
				for k := range 12 {
					s.begin()
					for range o.micro {
						m.tokens = 32 + s.r.Intn(400)
						m.data(s)
						f := len(s.ops)
						m.forward(s)
						m.loss(s)
						passes = append(passes, [2]int{f, len(s.ops)})
						m.backward(s)
					}
					m.optimize(s)
					s.done()
					if o.every > 0 && (k+1)%o.every == 0 {
						for range 2 {
							m.tokens = 32 + s.r.Intn(400)
							m.data(s)
							m.forward(s)
							m.loss(s)
						}
					}
				}
				r := Find(s.ops, true)
				if o.noise > 0 {
					s.slack(t, r, 4)
					return
				}
				s.check(t, r)
				n := 0
				for k, it := range r.Iterations {
					for _, p := range it.Phases {
						switch {
						case p.Name == forwardPhase && n < len(passes) && p.First != passes[n][0]:
							t.Errorf("iteration %d: forward begins at operation %d, want %d", k, p.First, passes[n][0])
						case p.Name == backwardPhase:
							if n < len(passes) && p.First != passes[n][1] {
								t.Errorf("iteration %d: backward begins at operation %d, want %d", k, p.First, passes[n][1])
							}
							n++
						}
					}
				}
				if n != len(passes) {
					t.Errorf("%d backward passes, want %d", n, len(passes))
				}
			})
		}
	}
}

// TestVaryingRequests: prompts have other lengths and kernels, and decode steps split their sums by the context's length.
// The host feeds a prompt and reads the answer; a decode step touches it not at all.
func TestVaryingRequests(t *testing.T) {
	t.Parallel()
	for _, o := range []struct {
		requests   int
		feed, read bool // prompts are copied to the device; answers to the host
		tokens     bool // every token is copied to the host
		even       bool
		noise      float64
	}{
		{6, true, true, false, true, 0}, {6, true, true, false, false, 0}, {6, true, false, false, false, 0}, {3, true, true, false, true, 0},
		{6, true, false, true, false, 0}, {8, true, true, false, false, 0.003},
	} {
		for seed := range int64(6) {
			t.Run(fmt.Sprintf("%+v %d", o, seed), func(t *testing.T) {
				t.Parallel()
				s := newScript(seed)
				s.drop, s.add, s.swap = o.noise, o.noise, o.noise
				model{layers: 4}.setup(s)
				var steps []int
				var prefills []int
				for range o.requests {
					n := 20
					if !o.even {
						n = 10 + s.r.Intn(20)
					}
					steps = append(steps, n)
					m := sized{layers: 3, tokens: 64 + s.r.Intn(400)}
					s.begin()
					if o.feed {
						s.class(1, HtoD, 10)
					}
					m.forward(s)
					s.op(1, "argmax", m.tokens)
					if o.tokens {
						s.class(1, DtoH, 3)
					}
					prefills = append(prefills, len(s.ops)-1)
					context := m.tokens
					for range n {
						context++
						decodeStep(s, 3, context)
						if o.tokens {
							s.class(1, DtoH, 3)
						}
					}
					if o.read {
						s.class(1, DtoH, 8)
					}
					s.done()
				}
				r := Find(s.ops, true)
				if o.noise > 0 {
					s.slack(t, r, 4)
					return
				}
				s.check(t, r)
				if r.Unit != "request" {
					t.Errorf("unit %q", r.Unit)
				}
				for k, it := range r.Iterations {
					if k >= len(steps) {
						break
					}
					n := 0
					for _, p := range it.Phases {
						n += one(p.Name == decodePhase)
						if p.Name == prefillPhase && p.Last != prefills[k] {
							t.Errorf("request %d: prefill ends at operation %d, want %d", k, p.Last, prefills[k])
						}
					}
					if n != steps[k] || len(it.Phases) != n+1 {
						t.Errorf("request %d: %d decode steps of %d phases, want %d", k, n, len(it.Phases), steps[k])
					}
				}
			})
		}
	}
}

// decodeStep launches one token's kernels.
func decodeStep(s *script, layers, context int) {
	s.op(1, "void at::native::indexSelectSmallIndex<float>()", 1)
	s.op(1, elementwise("CUDAFunctor_add", 1), 1)
	for range layers {
		s.op(1, "void at::native::vectorized_layer_norm_kernel<float>()", 1)
		s.op(1, "void gemmSN_TN_kernel<float, (int)128>()", 96)
		s.op(1, "void at::native::CatArrayBatchedCopy<float>()", context)
		if split := context / 100; split > 0 {
			s.op(1, fmt.Sprintf("void flash::flash_fwd_splitkv_kernel<(int)%d>()", 64<<min(2, split-1)), 8*split)
			s.op(1, fmt.Sprintf("void flash::flash_fwd_splitkv_combine_kernel<(int)%d>()", split), 8)
		} else {
			s.op(1, "fmha_cutlassF_f32_aligned_64x64_rf_sm80(AttentionKernel)", 8)
		}
		s.op(1, "void gemmSN_TN_kernel<float, (int)128>()", 32)
		s.op(1, elementwise("CUDAFunctor_add", 1), 1)
		s.op(1, "void at::native::vectorized_layer_norm_kernel<float>()", 1)
		s.op(1, "void gemmSN_TN_kernel<float, (int)128>()", 128)
		s.op(1, elementwise("GeluCUDAKernelImpl", 1), 1)
		s.op(1, "void gemmSN_TN_kernel<float, (int)128>()", 32)
		s.op(1, elementwise("CUDAFunctor_add", 1), 1)
	}
	s.op(1, "void gemmSN_TN_kernel<float, (int)128>()", 1024)
	s.op(1, "argmax", 1)
}

// TestNoiseOfKinds: kernels drawn at random that have kinds do not repeat.
func TestNoiseOfKinds(t *testing.T) {
	t.Parallel()
	names := []string{"xmma_gemm_", "cutlass_gemm_", "fmha_", "fprop_", "layer_norm_", "softmax_", "CatArray", "gather_kernel"}
	for i := range 12 {
		names = append(names, fmt.Sprint("void at::native::vectorized_elementwise_kernel<F", i))
	}
	for seed := range int64(10) {
		for _, threads := range []int{1, 2} {
			for _, copies := range []bool{false, true} {
				s := newScript(seed)
				for turn := range 60 {
					for range 5 + s.r.Intn(90) {
						s.raw(int32(1+turn%threads), fmt.Sprint(names[s.r.Intn(len(names))], s.r.Intn(6), ">"), s.r.Intn(9))
						if copies && s.r.Intn(40) == 0 {
							s.class(1, Class(1+s.r.Intn(3)), s.r.Intn(20))
						}
					}
				}
				if r := Find(s.ops, true); len(r.Iterations) > 0 {
					t.Errorf("seed %d, %d threads, copies %v: %d iterations, confidence %.2f: %s", seed, threads, copies, len(r.Iterations), r.Confidence, r.Why)
				}
			}
		}
	}
}

// TestKindOf: names as they stand in reports.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
			"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(T1::Params)", "void gemmSN_TN_kernel<float, (int)128>()",
			"void cublasLt::splitKreduce_kernel<(int)32, (int)16, int>()", "nvjet_sm90_hsh_64x8_64x16_1x4_h_bz_TNT",
			"void sgemm_largek_lds64<(bool)1, (bool)0>()", "void scal_kernel<float, float, (int)1>()"},
		{"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
			"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0"},
		{"fmha_cutlassB_f32_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel)",
			"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0"},
		{"void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>>(int, T2)",
			"void at::native::unrolled_elementwise_kernel<(int)8, at::native::CUDAFunctor_add<float>>(int, T2)"},
		{"void <unnamed>::softmax_warp_forward<float, float, float, (int)10>(T2 *)", "void at::native::<unnamed>::cunn_SoftMaxForward<(int)4>(T2 *)"},
		{"void <unnamed>::softmax_warp_backward<float, float, float, (int)8>(T2 *)", "void at::native::<unnamed>::cunn_SoftMaxBackwardSmem<(int)8>(T2 *)"},
		{"void at::native::vectorized_elementwise_kernel<(int)4, at::native::AbsFunctor<float>>(int)"},
		{"k1"}, {"k2"}, {"triton_poi_fused_add_0"}, {"triton_poi_fused_add_1"},
	} {
		for _, name := range same {
			if KindOf(name) != KindOf(same[0]) {
				t.Errorf("%q is not of the kind of %q", name, same[0])
			}
		}
	}
	seen := map[uint64]string{}
	for _, name := range []string{"gemm", "fmha_cutlassF", "fmha_cutlassB", "sm80_xmma_fprop_", "sm80_xmma_dgrad_", "layer_norm_kernel", "layer_norm_grad_input_kernel",
		"softmax_warp_forward", "softmax_warp_backward", "CatArrayBatchedCopy", "k1", "k2", "triton_0", "triton_1",
		"vectorized_elementwise_kernel<(int)4, AbsFunctor", "vectorized_elementwise_kernel<(int)4, FillFunctor"} {
		if other, ok := seen[KindOf(name)]; ok {
			t.Errorf("%q is of the kind of %q", name, other)
		}
		seen[KindOf(name)] = name
	}
	if KindOf("") != 0 {
		t.Error("an empty name has a kind")
	}
}
