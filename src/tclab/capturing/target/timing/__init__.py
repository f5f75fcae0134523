"""What the GPU would choose by timing: asked, taken both ways, and what that leaves open."""
