"""Vision Transformers with attention by name: Section 5.3.3 of the paper."""
