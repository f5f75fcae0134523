class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4096, 1000][1000, 1]cuda:0", L_b_: "f32[1000][1]cuda:0"):
        l_x_ = L_x_
        l_b_ = L_b_

        # File: snippets/triton/pointwise_chain_is_one_kernel.py:17 in f, code: return F.gelu(x + b) * x
        add: "f32[4096, 1000][1000, 1]cuda:0" = l_x_ + l_b_;  l_b_ = None
        gelu: "f32[4096, 1000][1000, 1]cuda:0" = torch._C._nn.gelu(add);  add = None
        mul: "f32[4096, 1000][1000, 1]cuda:0" = gelu * l_x_;  gelu = l_x_ = None
        return (mul,)
