class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8][1]cpu"):
        l_x_ = L_x_

        # File: snippets/graph_breaks/data_dependent_if.py:22 in with_where, code: y = x.sin()
        y: "f32[8][1]cpu" = l_x_.sin();  l_x_ = None

        # File: snippets/graph_breaks/data_dependent_if.py:23 in with_where, code: return torch.where(y.sum() > 0, y + 1, y - 1)
        sum_1: "f32[][]cpu" = y.sum()
        gt: "b8[][]cpu" = sum_1 > 0;  sum_1 = None
        add: "f32[8][1]cpu" = y + 1
        sub: "f32[8][1]cpu" = y - 1;  y = None
        where: "f32[8][1]cpu" = torch.where(gt, add, sub);  gt = add = sub = None
        return (where,)
