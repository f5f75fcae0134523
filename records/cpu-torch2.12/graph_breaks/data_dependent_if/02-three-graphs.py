class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8][1]cpu"):
        l_x_ = L_x_

        # File: snippets/graph_breaks/data_dependent_if.py:15 in python_if, code: y = x.sin()
        y: "f32[8][1]cpu" = l_x_.sin();  l_x_ = None

        # File: snippets/graph_breaks/data_dependent_if.py:16 in python_if, code: if y.sum() > 0:
        sum_1: "f32[][]cpu" = y.sum()
        gt: "b8[][]cpu" = sum_1 > 0;  sum_1 = None
        return (gt, y)
