"""Prepare and time one case in a worker's process. All modules here import torch."""
