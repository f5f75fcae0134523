class GraphModule(torch.nn.Module):
    def forward(self, L_y_: "f32[8][1]cpu"):
        l_y_ = L_y_

        # File: snippets/graph_breaks/data_dependent_if.py:17 in torch_dynamo_resume_in_python_if_at_16, code: return y + 1
        add: "f32[8][1]cpu" = l_y_ + 1;  l_y_ = None
        return (add,)
