// Kinds of operators, which have a colour each. The name is written on every box, so that the colour
// only helps the eye.

const KINDS = [
  ["product", /Conv|Gemm|MatMul|Einsum|FULLY_CONNECTED|CONV_2D|Linear/i],
  ["attention", /Attention|LSTM|GRU|RNN/],
  ["control", /^(If|Loop|Scan|SequenceMap|WHILE|IF)$/],
  ["quantise", /Quantize|QLinear|QUANTIZE/i],
  ["norm", /Normalization|Norm$|^LRN$|L2_NORMALIZATION/i],
  ["pool", /Pool/i],
  ["activation", /Relu|Sigmoid|Tanh|Softmax|Gelu|Elu|Swish|Mish|Erf|Clip|LOGISTIC|Softplus/i],
  ["shape", /Reshape|Transpose|Concat|Split|Slice|Squeeze|Flatten|Gather|Expand|Tile|Pad|Shape|Resize|Upsample|Cast|DepthToSpace|PACK/i],
  ["arithmetic", /^(Add|Sub|Mul|Div|Sum|Pow|Sqrt|Max|Min|Neg|Exp|Log|Abs|Reduce.*|Mean|Equal|Where|Not|And|Or|Greater.*|Less.*|ADD|SUB|MUL|DIV|MEAN)$/],
];

export function kindOf(operator) {
  const name = operator.replace(/^.*::/, "");
  return KINDS.find(([, pattern]) => pattern.test(name))?.[0] ?? "other";
}
