class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[1000003][1]cuda:0", L_y_: "f32[1000003][1]cuda:0"):
        l_x_ = L_x_
        l_y_ = L_y_

        # File: snippets/triton/your_own_kernel_inside_compile.py:27 in mine, code: x = torch.sin(x)
        x: "f32[1000003][1]cuda:0" = torch.sin(l_x_);  l_x_ = None

        # File: snippets/triton/your_own_kernel_inside_compile.py:28 in mine, code: out = torch.empty_like(x)
        out: "f32[1000003][1]cuda:0" = torch.empty_like(x)

        # File: snippets/triton/your_own_kernel_inside_compile.py:29 in mine, code: scale_add[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
        triton_kernel_wrapper_mutation = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = 0, constant_args_idx = 0, grid = [(977, 1, 1)], tma_descriptor_metadata = {}, kwargs = {'x_ptr': x, 'y_ptr': l_y_, 'out_ptr': out});  x = l_y_ = triton_kernel_wrapper_mutation = None

        # File: snippets/triton/your_own_kernel_inside_compile.py:30 in mine, code: return torch.relu(out)
        relu: "f32[1000003][1]cuda:0" = torch.relu(out);  out = None
        return (relu,)
