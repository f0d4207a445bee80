#include "weights/canonical_block.h"

namespace hearth {

Canonicalize canonicalize(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::q8_0:
    case Dtype::q4_0:
    case Dtype::q4_1:
    case Dtype::iq4_nl: return nullptr;
    case Dtype::q5_0: return canonical_q5_0;
    case Dtype::q5_1: return canonical_q5_1;
    case Dtype::q2_k: return canonical_q2_k;
    case Dtype::q3_k: return canonical_q3_k;
    case Dtype::q4_k: return canonical_q4_k;
    case Dtype::q5_k: return canonical_q5_k;
    case Dtype::q6_k: return canonical_q6_k;
    case Dtype::iq4_xs: return canonical_iq4_xs;
    case Dtype::int4_g32: return canonical_int4_g32;
    case Dtype::int4_g128: return canonical_int4_g128;
    case Dtype::f8_e4m3: return canonical_f8_e4m3;
  }
  return nullptr;
}

}  // namespace hearth
