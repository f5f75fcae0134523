class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8][1]cpu"):
        l_x_ = L_x_

        # File: snippets/graph_breaks/data_dependent_if.py:27 in with_cond, code: y = x.sin()
        y: "f32[8][1]cpu" = l_x_.sin();  l_x_ = None

        # File: snippets/graph_breaks/data_dependent_if.py:28 in with_cond, code: return torch.cond(y.sum() > 0, lambda y: y + 1, lambda y: y - 1, (y,))
        sum_1: "f32[][]cpu" = y.sum()
        gt: "b8[][]cpu" = sum_1 > 0;  sum_1 = None
        cond_true_0 = self.cond_true_0
        cond_false_0 = self.cond_false_0
        cond = torch.ops.higher_order.cond(gt, cond_true_0, cond_false_0, (y,));  gt = cond_true_0 = cond_false_0 = y = None
        getitem: "f32[8][1]cpu" = cond[0];  cond = None
        return (getitem,)

    class cond_true_0(torch.nn.Module):
        def forward(self, y: "f32[8][1]cpu"):
            y_1 = y

            # File: snippets/graph_breaks/data_dependent_if.py:28 in <lambda>, code: return torch.cond(y.sum() > 0, lambda y: y + 1, lambda y: y - 1, (y,))
            add: "f32[8][1]cpu" = y_1 + 1;  y_1 = None
            return (add,)

    class cond_false_0(torch.nn.Module):
        def forward(self, y: "f32[8][1]cpu"):
            y_1 = y

            # File: snippets/graph_breaks/data_dependent_if.py:28 in <lambda>, code: return torch.cond(y.sum() > 0, lambda y: y + 1, lambda y: y - 1, (y,))
            sub: "f32[8][1]cpu" = y_1 - 1;  y_1 = None
            return (sub,)
